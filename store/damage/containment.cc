#include "store/damage/containment.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>

#include "engine/types/logfmt.h"
#include "store/damage/damage_record.h"
#include "store/damage/table_blocks.h"
#include "store/damage/table_file.h"
#include "store/disk/file_tree.h"
#include "store/format/bytes.h"
#include "store/format/format.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

constexpr std::string_view aside_name = "damaged";

// The tables whose damage can be contained.
std::vector<rocksdb::LiveFileMetaData> tables_not_loaded(rocksdb::DB& db) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  std::erase_if(tables, [](const rocksdb::LiveFileMetaData& table) {
    return is_loaded(table.column_family_name);
  });
  return tables;
}

// REQUIRES: tables_not_loaded() has returned the table.
Family family_of(const rocksdb::LiveFileMetaData& table) {
  return *family_named(table.column_family_name);
}

// Returns the first 8 bytes of a key, with zeros behind a shorter one. Keys of an index may be
// shorter or longer than those of the rows between which they lie.
JobId id_at(std::string key) {
  key.resize(sizeof(JobId), '\0');
  return get_big_endian<JobId>(key);
}

// The ids that a block may hold: those of keys behind `after`, up to `until`; or all, if its keys
// do not begin with ids.
DamagedBlock damaged_block(const rocksdb::LiveFileMetaData& table, const TableBlock& block,
                           std::string problem) {
  const Family family = family_of(table);
  if (!has_ids(family)) {
    return {.family = family,
            .table = table.file_number,
            .offset = block.offset,
            .bytes = block.bytes + block_trailer_bytes,
            .first = 0,
            .last = std::numeric_limits<JobId>::max(),
            .problem = std::move(problem)};
  }
  const std::string& after = block.after;
  // A job has one key in a family whose keys are ids, and perhaps further ones in any other.
  const bool is_next = after.size() >= sizeof(JobId) && key_bytes_of(family) == sizeof(JobId);
  const JobId first = after.empty() ? id_at(table.smallestkey) : id_at(after) + (is_next ? 1 : 0);
  const JobId until = id_at(block.until);
  const bool is_before = block.until.size() < key_bytes_of(family) && until > 0;
  const JobId last = std::min(is_before ? until - 1 : until, id_at(table.largestkey));
  return {.family = family,
          .table = table.file_number,
          .offset = block.offset,
          .bytes = block.bytes + block_trailer_bytes,
          .first = std::min(first, last),
          .last = last,
          .problem = std::move(problem)};
}

// The block reads as the deletion of a key that no row has. In the first block of a table it lies
// behind the first key of the table, because no key may lie before that. All rows of a block may
// have one key, and then there is no place for another one behind it; or the block, which is the
// last of its table then, may be too short for a longer key. Then it is the deletion of that key,
// whose row was in the block. It has the row's place among several of the key, if the index tells
// it. Otherwise its number must not delete a newer row of the key that another table has.
Result<std::string> substitute_for(const rocksdb::LiveFileMetaData& table, const TableBlock& block,
                                   uint32_t place) {
  const Family family = family_of(table);
  const std::string& before = block.after.empty() ? table.smallestkey : block.after;
  if (before != block.until) {
    const std::string key = key_between(family, before, place);
    Result<std::string> out = make_substitute(family, block.bytes, key, table.largest_seqno);
    if (out.ok()) return out;
  }
  const uint64_t number = is_overwritten(family) ? table.smallest_seqno : table.largest_seqno;
  return make_substitute(family, block.bytes, block.until,
                         block.until_sequence != 0 ? block.until_sequence : number);
}

// The compaction of a thread.
struct Compaction {
  bool may_be_contained = false;
  uint64_t version = 0;  // Of what was contained when it began.
  TableErrors errors = {};
  bool is_contained = false;
};
thread_local Compaction compaction;

// Whether the compaction of this thread has met damage that can be contained.
bool is_damage(const rocksdb::Status& status) {
  return compaction.may_be_contained && compaction.errors.contains(status);
}

}  // namespace

Containment::Containment(const Options& options, std::string db_path)
    : options_(options), db_path_(std::move(db_path)) {}

void Containment::inform(std::string_view at, std::string_view fields) const {
  if (options_.events.info) options_.events.info(at, fields);
}

Status Containment::open() {
  Result<std::vector<DamagedBlock>> found = read_damage_record(options_.env, db_path_);
  if (!found.ok()) {
    if (found.status().code() != StatusCode::Corruption) return found.take_status();
    inform("store.damage_record", fmt::format("problem={}", logfmt_text(found.status().message())));
    return {};
  }
  const std::lock_guard lock(mutex_);
  blocks_ = found.take();
  for (const DamagedBlock& block : blocks_) {
    suspects_.push_back({.family = block.family, .first = block.first, .last = block.first});
  }
  if (!blocks_.empty()) version_.store(1, std::memory_order_release);
  return {};
}

bool Containment::contain(rocksdb::DB& db, const std::vector<uint64_t>& tables) {
  const uint64_t before = version();
  const std::lock_guard checking(checking_);
  bool is_new = version() != before;
  for (const rocksdb::LiveFileMetaData& table : tables_not_loaded(db)) {
    if (std::ranges::find(tables, table.file_number) == tables.end()) continue;
    Substitutes substitutes;
    const Result<std::vector<DamagedBlock>> found = check(table, substitutes);
    if (!found.ok()) {
      inform("store.damage_not_contained",
             fmt::format("table={} problem={}", table_name(table.file_number),
                         logfmt_text(found.status().message())));
      continue;
    }
    if (found->empty()) continue;
    set_aside(table);
    // Before a compaction may drop what the blocks held.
    if (Status noted = note(*found); !noted.ok()) {
      inform("store.damage_not_contained", fmt::format("problem={}", logfmt_text(noted.message())));
      return false;
    }
    substitutes_.add(table.file_number, std::move(substitutes));
    // Also for whoever has met the damage after note(), and before there were substitutes.
    version_.fetch_add(1, std::memory_order_acq_rel);
    is_new = true;
  }
  return is_new;
}

Result<std::vector<DamagedBlock>> Containment::pass_over(rocksdb::DB& db,
                                                         std::initializer_list<Family> families) {
  const std::lock_guard checking(checking_);
  std::vector<DamagedBlock> out;
  for (const rocksdb::LiveFileMetaData& table : tables_not_loaded(db)) {
    if (std::ranges::find(families, family_of(table)) == families.end()) continue;
    Substitutes substitutes;
    const Result<std::vector<DamagedBlock>> found = check(table, substitutes);
    if (!found.ok()) return found.status();
    if (!found->empty()) substitutes_.add(table.file_number, std::move(substitutes));
    out.insert(out.end(), found->begin(), found->end());
  }
  return out;
}

// Reads each block as the disk has it. A block that can be read the second time is good.
Result<std::vector<DamagedBlock>> Containment::check(const rocksdb::LiveFileMetaData& table,
                                                     Substitutes& substitutes) const {
  const std::string path = path_of(table);
  const Result<IndexKeys> keys = index_keys_of(path, options_.env);
  if (!keys.ok()) return keys.status();
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  const auto opened = file_system_of(options_.env)
                          .NewRandomAccessFile(path, rocksdb::FileOptions(), &file, nullptr);
  if (!opened.ok()) return from_rocksdb(opened);
  const Result<std::vector<TableBlock>> blocks = list_blocks(*file, table.size, *keys);
  if (!blocks.ok()) return blocks.status();
  const std::shared_ptr<const Substitutes> known = substitutes_.of(table.file_number);
  std::vector<DamagedBlock> out;
  for (size_t i = 0; i < blocks->size(); ++i) {
    const TableBlock& block = (*blocks)[i];
    if (known != nullptr && known->contains(block.offset)) continue;
    if (check_block(*file, block.offset, block.bytes).ok()) continue;
    const Status problem = check_block(*file, block.offset, block.bytes);
    if (problem.ok()) continue;
    Result<std::string> substitute = substitute_for(table, block, static_cast<uint32_t>(i));
    if (!substitute.ok()) return substitute.take_status();
    substitutes[block.offset] = substitute.take();
    out.push_back(damaged_block(table, block, problem.message()));
  }
  return out;
}

// Adds the blocks to the record. Those that an earlier process has found are there already.
Status Containment::note(const std::vector<DamagedBlock>& found) {
  const std::lock_guard lock(mutex_);
  std::vector<DamagedBlock> all = blocks_;
  for (const DamagedBlock& block : found) {
    const bool is_known = std::ranges::any_of(all, [&](const DamagedBlock& other) {
      return other.table == block.table && other.offset == block.offset;
    });
    if (!is_known) all.push_back(block);
  }
  if (all.size() > blocks_.size()) {
    if (Status written = write_damage_record(options_.env, db_path_, all); !written.ok()) {
      return written;
    }
  }
  for (const DamagedBlock& block : found) {
    const std::string ids = has_ids(block.family)
                                ? fmt::format("first_id={} last_id={} ", block.first, block.last)
                                : std::string();
    inform("store.damage_contained",
           fmt::format("family={} table={} offset={} bytes={} {}problem={}", name_of(block.family),
                       table_name(block.table), block.offset, block.bytes, ids,
                       logfmt_text(block.problem)));
  }
  blocks_ = std::move(all);
  version_.fetch_add(1, std::memory_order_acq_rel);
  return {};
}

// Keeps the table as it is, for whoever can read more of it. That is a service and no promise: if
// it is impossible, an event says so.
void Containment::set_aside(const rocksdb::LiveFileMetaData& table) const {
  const FileTree tree(options_.env);
  const std::string folder = parent_of(db_path_) + "/" + std::string(aside_name);
  const std::string to = folder + "/" + table_name(table.file_number);
  const Result<bool> has_folder = tree.exists(folder);
  Status done = has_folder.ok() ? Status() : has_folder.status();
  if (done.ok() && !*has_folder) done = tree.make_dir(folder);
  const Result<bool> is_there = tree.exists(to);
  if (is_there.ok() && *is_there) return;
  if (done.ok()) done = tree.link(path_of(table), to);
  if (!done.ok())
    inform("store.not_set_aside", fmt::format("problem={}", logfmt_text(done.message())));
}

void Containment::begin_compaction(const Containment* containment) {
  compaction = {.may_be_contained = containment != nullptr,
                .version = containment == nullptr ? 0 : containment->version()};
}

void Containment::end_failed_compaction(rocksdb::DB& db, const rocksdb::Status& status,
                                        const std::vector<uint64_t>& tables) {
  // Another thread may have contained the damage since the compaction has read it.
  compaction.is_contained =
      is_damage(status) && (contain(db, tables) || version() != compaction.version);
}

bool Containment::forgives(const rocksdb::Status& status) {
  return compaction.is_contained && is_damage(status);
}

// CompactFiles() keeps a table in its level, where it overlaps no other. A table of level 0 goes to
// the first level below that is in use.
void Containment::rewrite(rocksdb::DB& db, rocksdb::ColumnFamilyHandle& family,
                          const std::atomic<bool>& cancelled) {
  std::vector<rocksdb::LiveFileMetaData> tables = tables_not_loaded(db);
  std::erase_if(tables, [&](const rocksdb::LiveFileMetaData& table) {
    return table.column_family_name != family.GetName();
  });
  int first_level = db.NumberLevels(&family) - 1;
  for (const rocksdb::LiveFileMetaData& table : tables) {
    if (table.level > 0) first_level = std::min(first_level, table.level);
  }
  rocksdb::CompactionOptions how;
  how.compression = rocksdb::kDisableCompressionOption;            // As the family's options say.
  how.output_file_size_limit = options_.compaction_bytes_max / 8;  // No table of ours is larger.
  for (const rocksdb::LiveFileMetaData& table : tables) {
    if (cancelled) return;
    if (!substitutes_.has(table.file_number)) continue;
    begin_compaction(this);
    compaction.is_contained = true;  // Whatever it meets is looked for below.
    const auto done = db.CompactFiles(how, &family, {path_of(table)},
                                      table.level > 0 ? table.level : first_level);
    compaction.is_contained = false;
    if (done.ok()) {
      inform("store.damaged_table_rewritten",
             fmt::format("table={}", table_name(table.file_number)));
    } else if (is_damage(done)) {
      contain(db, {table.file_number});
    } else if (!done.IsAborted()) {  // Another compaction has the table.
      inform("store.damaged_table_left",
             fmt::format("table={} problem={}", table_name(table.file_number),
                         logfmt_text(from_rocksdb(done).message())));
    }
  }
}

void Containment::suspect(Family family, JobId first, JobId last) {
  constexpr size_t suspects_max = 1000;  // Each table is checked once, whoever has met its damage.
  const std::lock_guard lock(mutex_);
  if (suspects_.size() < suspects_max) {
    suspects_.push_back({.family = family, .first = first, .last = last});
  }
}

void Containment::suspect_all() {
  const std::lock_guard lock(mutex_);
  suspects_all_ = true;
}

bool Containment::check_suspects(rocksdb::DB& db) {
  std::vector<Suspect> suspects;
  bool all = false;
  {
    const std::lock_guard lock(mutex_);
    suspects.swap(suspects_);
    all = std::exchange(suspects_all_, false);
  }
  if (suspects.empty() && !all) return false;
  std::vector<uint64_t> tables;
  for (const rocksdb::LiveFileMetaData& table : tables_not_loaded(db)) {
    const Family family = family_of(table);
    const JobId first = id_at(table.smallestkey);
    const JobId last = id_at(table.largestkey);
    // Of few tables of level 0 RocksDB reads each, whatever ids it has.
    const bool is_any = table.level == 0 || !has_ids(family);
    const bool may_hold = std::ranges::any_of(suspects, [&](const Suspect& suspect) {
      const bool overlaps = suspect.first <= last && first <= suspect.last;
      return suspect.family == family && (is_any || overlaps);
    });
    if (all || may_hold) tables.push_back(table.file_number);
  }
  return contain(db, tables);
}

std::vector<DamagedBlock> Containment::blocks() const {
  const std::lock_guard lock(mutex_);
  return blocks_;
}

Status Containment::forget(rocksdb::DB& db, Family family) {
  const std::vector<rocksdb::LiveFileMetaData> tables = tables_not_loaded(db);
  const std::lock_guard lock(mutex_);
  std::vector<DamagedBlock> left = blocks_;
  std::erase_if(left, [&](const DamagedBlock& block) {
    return block.family == family &&
           std::ranges::find(tables, block.table, &rocksdb::LiveFileMetaData::file_number) ==
               tables.end();
  });
  if (left.size() == blocks_.size()) return {};
  if (Status written = write_damage_record(options_.env, db_path_, left); !written.ok()) {
    return written;
  }
  blocks_ = std::move(left);
  version_.fetch_add(1, std::memory_order_acq_rel);
  return {};
}

}  // namespace perennial::store
