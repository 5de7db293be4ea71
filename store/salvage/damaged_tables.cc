#include "store/salvage/damaged_tables.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <rocksdb/iterator.h>
#include <rocksdb/metadata.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include "store/rocks/database.h"
#include "store/rocks/log_files.h"
#include "store/salvage/block_scan.h"
#include "store/salvage/manifest_changes.h"
#include "store/salvage/table_probe.h"
#include "store/types/damage.h"
#include "store/types/file_system_of.h"

namespace perennial::store {
namespace {

using Live = rocksdb::LiveFileMetaData;

// REQUIRES: it is a family of this program.
Family known_family(std::string_view name) {
  return *family_named(name);
}

uint64_t number_of(const Live& table) {
  uint64_t number = 0;
  const std::string& name = table.relative_filename;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

ManifestTable in_manifest(const Live& table, const Manifest& manifest) {
  ManifestTable out = {.family = 0, .level = table.level, .number = number_of(table)};
  for (const auto& [id, name] : manifest.names) {
    if (name == table.column_family_name) out.family = id;
  }
  return out;
}

// How what is left of a damaged table can be read.
enum class Way : uint8_t {
  ThroughIndex,
  BlockByBlock,  // The footer, the index or what else RocksDB needs to open it is damaged.
  None,          // Its rows are those of another table, or of another database.
};

struct TableProblem {
  std::string text;  // Empty: there is none.
  Way way = Way::BlockByBlock;
};

TableProblem another_table() {
  return {.text = "it is another table, which somebody has put in its place", .way = Way::None};
}

// Whether these are the properties of the table that the MANIFEST names. RocksDB compares more, and
// refuses what differs. A table has its number from its making on, also in a checkpoint.
bool is_of(const rocksdb::TableProperties& found, uint64_t file_bytes, const Live& table) {
  const bool has_number = found.orig_file_number == 0 || found.orig_file_number == number_of(table);
  return has_number && file_bytes == table.size &&
         found.column_family_name == table.column_family_name;
}

TableProblem problem_of(const Live& table, const Options& options) {
  rocksdb::Options how;
  if (options.env != nullptr) how.env = options.env;
  rocksdb::SstFileReader reader(how);
  rocksdb::Status status = reader.Open(table.directory + "/" + table.relative_filename);
  TableProblem out;
  if (status.ok()) {
    // Without its properties it is not known how the index is written.
    if (reader.GetTableProperties() != nullptr) out.way = Way::ThroughIndex;
    status = reader.VerifyChecksum();
  }
  if (!status.ok()) out.text = status.ToString();
  const auto properties = status.ok() ? reader.GetTableProperties() : nullptr;
  uint64_t file_bytes = 0;
  const bool is_known =
      properties != nullptr &&
      file_system_of(options.env)
          .GetFileSize(table.directory + "/" + table.relative_filename, {}, &file_bytes, nullptr)
          .ok();
  return is_known && !is_of(*properties, file_bytes, table) ? another_table() : out;
}

// Shows a MANIFEST to its end or its first damage, and with these tables deleted at its end.
class Views {
 public:
  Views(const Manifest& manifest, uint64_t file_bytes)
      : manifest_(manifest), bytes_(manifest.damage ? manifest.damage->offset : file_bytes) {}

  // `added`: a table that seems to be named, too, or null.
  View without(const std::vector<const Live*>& tables, const UnlistedTable* added = nullptr) const {
    View view;
    if (manifest_.damage) view.ends[manifest_.name] = bytes_;
    ManifestChanges changes = {.with_numbers = manifest_.next_file == 0, .added = added};
    for (const Live* const table : tables) {
      changes.removed.push_back(in_manifest(*table, manifest_));
    }
    if (!changes.is_empty()) view.appended[manifest_.name] = manifest_changes(bytes_, changes);
    return view;
  }

 private:
  const Manifest& manifest_;
  const uint64_t bytes_;
};

std::vector<Live> tables_of(const Database& db) {
  std::vector<Live> tables;
  db->GetLiveFilesMetaData(&tables);
  std::erase_if(tables, [](const Live& table) {
    return std::ranges::count(family_names, table.column_family_name) == 0;
  });
  return tables;
}

// Whether RocksDB opens every table for reading, and finds the id in it that the MANIFEST has. It
// does not compare them where it reads only properties.
bool opens_each(const Database& db) {
  const rocksdb::ReadOptions how;
  for (const Live& table : tables_of(db)) {
    rocksdb::ColumnFamilyHandle* const family = db.family(known_family(table.column_family_name));
    const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator(how, family));
    at->Seek(table.smallestkey);
    if (!at->status().ok()) return false;
  }
  return true;
}

struct Listed {
  std::vector<Live> tables = {};
  bool opens_each = false;
};

Result<Listed> list_tables(const std::string& db_path, const Options& options,
                           StoreFailure& failure, View view) {
  view.has_logs = false;
  const Result<Database> db = Database::open_leniently(db_path, options, failure, view);
  if (db.ok()) return Listed{.tables = tables_of(*db), .opens_each = opens_each(*db)};
  // It does not open with a table that is another one than the MANIFEST names.
  const Result<Database> any =
      Database::open_without_properties(db_path, options, failure, std::move(view));
  if (!any.ok()) return any.status();
  return Listed{.tables = tables_of(*any)};
}

std::unique_ptr<Database> opened(Result<Database> db) {
  return db.ok() ? std::make_unique<Database>(db.take()) : nullptr;
}

// Opens one damaged table without all others, and reads what can be read of it.
class LoneTable {
 public:
  // `alone` shows the database with this table only.
  LoneTable(const std::string& db_path, const Options& options, StoreFailure& failure, View alone,
            const Live& table)
      : db_path_(db_path),
        options_(options),
        failure_(failure),
        alone_(std::move(alone)),
        name_(table.relative_filename),
        bounds_({.first_key = table.smallestkey,
                 .last_key = table.largestkey,
                 .sequence_max = table.largest_seqno,
                 .bytes = table.size}) {
    alone_.has_logs = false;
  }

  void read(Way way, OpenedTable& out) {
    if (way == Way::None) return probe_table(bounds_, out);
    way == Way::ThroughIndex ? read_through_index(out) : read_block_by_block(out);
  }

 private:
  void read_through_index(OpenedTable& out) {
    out.db = opened(Database::open_leniently(db_path_, options_, failure_, alone_));
    probe_table(bounds_, out);
  }

  // The data blocks are looked for in the file, and RocksDB gets a new index of them.
  void read_block_by_block(OpenedTable& out) {
    const std::vector<BlockRun> runs = scan();
    alone_.patches[name_].bytes = new_index(runs, place_of_footer(bounds_));
    out.db = opened(Database::open_without_properties(db_path_, options_, failure_, alone_));
    probe_blocks(bounds_, runs, out);
  }

  // Also shows the table so that a sector that the disk cannot read ends no read.
  std::vector<BlockRun> scan() {
    alone_.patches[name_] = {.offset = place_of_footer(bounds_)};
    const std::unique_ptr<rocksdb::Env> shown = make_view_env(options_.env, alone_);
    rocksdb::FileSystem& files = file_system_of(shown.get());
    const std::string path = db_path_ + "/" + name_;
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    uint64_t bytes = 0;
    const bool is_there = files.NewRandomAccessFile(path, {}, &file, nullptr).ok() &&
                          files.GetFileSize(path, {}, &bytes, nullptr).ok();
    if (!is_there) return {};
    return scan_blocks(*file, std::min(bytes, place_of_footer(bounds_)), bounds_);
  }

  const std::string& db_path_;
  const Options& options_;
  StoreFailure& failure_;
  View alone_;
  const std::string name_;
  const TableBounds bounds_;
};

// Finds the tables in the directory that the MANIFEST does not name, and reads them. They are read
// if the MANIFEST has lost what it said of them. Of one that is whole, only those with numbers that
// it has never given out are: a crash during a flush or a compaction leaves them, with rows that
// are elsewhere, too. Others have been replaced, and would bring back what was removed since.
class UnlistedTables {
 public:
  UnlistedTables(const std::string& db_path, const Options& options, StoreFailure& failure,
                 const Manifest& manifest, const Views& views, const std::vector<Live>& listed)
      : db_path_(db_path),
        options_(options),
        failure_(failure),
        manifest_(manifest),
        views_(views),
        listed_(listed) {}

  Status read(bool is_manifest_damaged, std::vector<OpenedTable>& out) {
    std::vector<std::string> names;
    const auto found = file_system_of(options_.env).GetChildren(db_path_, {}, &names, nullptr);
    if (!found.ok()) return {StatusCode::Io, found.ToString()};
    std::ranges::sort(names);
    for (const std::string& name : names) {
      const uint64_t number = table_number_of(name);
      const bool is_listed = std::ranges::any_of(
          listed_, [&](const Live& table) { return number_of(table) == number; });
      const bool is_new = number >= manifest_.next_file;
      if (number == 0 || is_listed || (!is_manifest_damaged && !is_new)) continue;
      read(name, number, is_manifest_damaged, out);
    }
    return {};
  }

 private:
  void read(const std::string& name, uint64_t number, bool is_manifest_damaged,
            std::vector<OpenedTable>& out) {
    rocksdb::Options how;
    if (options_.env != nullptr) how.env = options_.env;
    rocksdb::SstFileReader reader(how);
    // Without its properties it is not known to which family it belongs.
    if (!reader.Open(db_path_ + "/" + name).ok() || reader.GetTableProperties() == nullptr) return;
    const rocksdb::Status whole = reader.VerifyChecksum();
    // A crash has left it half written.
    if (!whole.ok() && !is_manifest_damaged) return;
    const std::string& family = reader.GetTableProperties()->column_family_name;
    const auto known = std::ranges::find_if(
        manifest_.names, [&](const auto& named) { return named.second == family; });
    const bool is_ours = std::ranges::count(family_names, family) > 0;
    uint64_t bytes = 0;
    const auto asked =
        file_system_of(options_.env).GetFileSize(db_path_ + "/" + name, {}, &bytes, nullptr);
    if (known == manifest_.names.end() || !is_ours || !asked.ok()) return;
    const UnlistedTable added = {.family = known->first, .number = number, .bytes = bytes};
    std::vector<const Live*> others;
    for (const Live& other : listed_) others.push_back(&other);
    Live table;
    table.relative_filename = name;
    table.smallestkey = "";
    table.largestkey = std::string(table_key_bytes_max, '\xff');
    table.largest_seqno = sequence_unknown;
    table.size = bytes;
    OpenedTable opened;
    opened.found = {.family = known_family(family),
                    .file = name,
                    .problem = whole.ok() ? "" : whole.ToString(),
                    .time_max = sequence_unknown,
                    .is_unlisted = true};
    LoneTable(db_path_, options_, failure_, views_.without(others, &added), table)
        .read(Way::ThroughIndex, opened);
    out.push_back(std::move(opened));
  }

  static constexpr uint64_t sequence_unknown = uint64_t{1} << 56;

  const std::string& db_path_;
  const Options& options_;
  StoreFailure& failure_;
  const Manifest& manifest_;
  const Views& views_;
  const std::vector<Live>& listed_;
};

bool is_missing(const std::string& db_path, const Live& table, const Options& options) {
  return file_system_of(options.env)
      .FileExists(db_path + "/" + table.relative_filename, {}, nullptr)
      .IsNotFound();
}

}  // namespace

Result<TableDamage> find_damaged_tables(const std::string& db_path, const Options& options,
                                        StoreFailure& failure, const Manifest& manifest) {
  uint64_t manifest_bytes = 0;
  const auto asked = file_system_of(options.env)
                         .GetFileSize(db_path + "/" + manifest.name, {}, &manifest_bytes, nullptr);
  if (!asked.ok()) return Status(StatusCode::Io, asked.ToString());
  const Views views(manifest, manifest_bytes);
  Result<Listed> listed = list_tables(db_path, options, failure, views.without({}));
  if (!listed.ok()) return listed.take_status();
  const std::vector<Live>& tables = listed->tables;
  TableDamage out;
  if (manifest.damage) out.manifest_problem = manifest.damage_text();
  std::vector<const Live*> damaged;
  for (const Live& table : tables) {
    std::vector<const Live*> others;
    for (const Live& other : tables) {
      if (&other != &table) others.push_back(&other);
    }
    TableProblem problem = problem_of(table, options);
    if (problem.text.empty() && !listed->opens_each) {
      View alone = views.without(others);
      alone.has_logs = false;
      const auto db = Database::open_leniently(db_path, options, failure, std::move(alone));
      if (!db.ok() || !opens_each(*db)) problem = another_table();
    }
    if (problem.text.empty()) continue;
    if (out.manifest_problem.empty() && is_missing(db_path, table, options)) {
      out.manifest_problem =
          fmt::format("{} names {}, which is missing", manifest.name, table.relative_filename);
    }
    damaged.push_back(&table);
    OpenedTable& opened = out.tables.emplace_back();
    opened.found = {.family = known_family(table.column_family_name),
                    .file = table.relative_filename,
                    .problem = std::move(problem.text),
                    .time_max = table.largest_seqno + 1};
    LoneTable(db_path, options, failure, views.without(others), table).read(problem.way, opened);
  }
  out.rest = views.without(damaged);
  UnlistedTables unlisted(db_path, options, failure, manifest, views, tables);
  Status read = unlisted.read(!out.manifest_problem.empty(), out.tables);
  if (!read.ok()) return read;
  return out;
}

}  // namespace perennial::store
