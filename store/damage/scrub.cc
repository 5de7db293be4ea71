#include "store/damage/scrub.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/db.h>

#include "engine/types/logfmt.h"
#include "store/damage/table_file.h"
#include "store/format/format.h"
#include "store/types/file_system_of.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

// The kernel forgets whole pages.
constexpr uint64_t page_bytes = 4096;

std::vector<rocksdb::LiveFileMetaData> live_tables(rocksdb::DB& db) {
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  return tables;
}

bool has(const std::vector<rocksdb::LiveFileMetaData>& tables, uint64_t number) {
  return std::ranges::find(tables, number, &rocksdb::LiveFileMetaData::file_number) != tables.end();
}

}  // namespace

// Goes on where the last step ended, which may be within a table: `reading_` keeps the place.
std::vector<uint64_t> Scrub::step(rocksdb::DB& db, Nanos now, uint64_t bytes_max) {
  const Tables tables = live_tables(db);
  forget_gone(tables);
  std::vector<uint64_t> to_contain;
  uint64_t bytes = 0;
  while (bytes < bytes_max) {
    if (reading_ == nullptr) {
      if (!is_passing_ && !begin_pass(tables, now)) break;
      if (!begin_table(tables)) {
        is_passing_ = false;
        passes_.fetch_add(1, std::memory_order_relaxed);
        break;
      }
      if (const Status opened = open_table(*reading_); !opened.ok()) {
        note(db, *reading_, 0, opened, to_contain);
        reading_.reset();
        continue;
      }
    }
    Reading& reading = *reading_;
    if (reading.next == reading.blocks.size()) {
      reading_.reset();
      continue;
    }
    const TableBlock& block = reading.blocks[reading.next++];
    const Status checked = check(reading, block);
    bytes += block.bytes + block_trailer_bytes;
    if (!checked.ok()) note(db, reading, block.offset, checked, to_contain);
  }
  bytes_.fetch_add(bytes, std::memory_order_relaxed);
  return to_contain;
}

bool Scrub::begin_pass(const Tables& tables, Nanos now) {
  if (now < next_pass_at_ || tables.empty()) return false;
  next_pass_at_ = now + pass_interval;
  is_passing_ = true;
  last_ = 0;
  until_ = std::ranges::max(tables, {}, &rocksdb::LiveFileMetaData::file_number).file_number;
  return true;
}

// Tables are read in the order of their numbers. Those that were made since the pass began are left
// for the next one: under load there would be no end.
bool Scrub::begin_table(const Tables& tables) {
  const rocksdb::LiveFileMetaData* next = nullptr;
  for (const rocksdb::LiveFileMetaData& table : tables) {
    if (table.file_number <= last_ || table.file_number > until_) continue;
    if (next == nullptr || table.file_number < next->file_number) next = &table;
  }
  if (next == nullptr) return false;
  last_ = next->file_number;
  reading_ = std::make_unique<Reading>();
  reading_->table = *next;
  return true;
}

Status Scrub::open_table(Reading& reading) const {
  const std::string path = path_of(reading.table);
  const Result<IndexKeys> keys = index_keys_of(path, options_.env);
  if (!keys.ok()) return keys.status();
  const auto opened =
      file_system_of(options_.env)
          .NewRandomAccessFile(path, rocksdb::FileOptions(), &reading.file, nullptr);
  if (!opened.ok()) return from_rocksdb(opened);
  Result<std::vector<TableBlock>> blocks = list_blocks(*reading.file, reading.table.size, *keys);
  if (!blocks.ok()) return blocks.take_status();
  reading.blocks = blocks.take();
  return {};
}

// Makes the kernel forget its copy of the block, so that the disk is read and not the page cache. A
// block is damaged when two reads in a row fail, because an error of one read may pass.
Status Scrub::check(Reading& reading, const TableBlock& block) const {
  const uint64_t begin = block.offset / page_bytes * page_bytes;
  const uint64_t end = block.offset + block.bytes + block_trailer_bytes + page_bytes - 1;
  // Not every file system supports it. Then the kernel's copy may be what is checked.
  reading.file->InvalidateCache(begin, end / page_bytes * page_bytes - begin)
      .PermitUncheckedError();
  if (check_block(*reading.file, block.offset, block.bytes).ok()) return {};
  return check_block(*reading.file, block.offset, block.bytes);
}

// A failure is no damage if a compaction has replaced the table meanwhile: its file may be cut or
// gone. Damage that can be contained is for the caller; damage of the state is reported here.
void Scrub::note(rocksdb::DB& db, const Reading& reading, uint64_t offset, const Status& problem,
                 std::vector<uint64_t>& to_contain) {
  const rocksdb::LiveFileMetaData& table = reading.table;
  if (!has(live_tables(db), table.file_number)) return;
  if (!is_loaded(table.column_family_name)) {
    if (to_contain.empty() || to_contain.back() != table.file_number) {
      to_contain.push_back(table.file_number);
    }
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    const bool is_known = std::ranges::any_of(damaged_, [&](const DamagedRows& known) {
      return known.table == table.file_number && known.offset == offset;
    });
    if (is_known) return;
    damaged_.push_back({.family = table.column_family_name,
                        .table = table.file_number,
                        .offset = offset,
                        .problem = problem.message()});
  }
  if (!options_.events.info) return;
  options_.events.info(
      "store.damaged_rows",
      fmt::format("family={} table={} offset={} problem={}", table.column_family_name,
                  table_name(table.file_number), offset, logfmt_text(problem.message())));
}

void Scrub::forget_gone(const Tables& tables) {
  if (reading_ != nullptr && !has(tables, reading_->table.file_number)) reading_.reset();
  const std::lock_guard lock(mutex_);
  std::erase_if(damaged_, [&](const DamagedRows& known) { return !has(tables, known.table); });
}

std::vector<DamagedRows> Scrub::damaged() const {
  const std::lock_guard lock(mutex_);
  return damaged_;
}

ScrubFigures Scrub::figures() const {
  return {.bytes = bytes_.load(std::memory_order_relaxed),
          .passes = passes_.load(std::memory_order_relaxed)};
}

}  // namespace perennial::store
