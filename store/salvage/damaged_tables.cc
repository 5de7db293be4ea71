#include "store/salvage/damaged_tables.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <rocksdb/metadata.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/table_properties.h>

#include "store/rocks/database.h"
#include "store/salvage/block_probe.h"
#include "store/salvage/block_scan.h"
#include "store/salvage/manifest_deletions.h"
#include "store/salvage/new_index.h"
#include "store/salvage/table_probe.h"
#include "store/types/file_system_of.h"

namespace perennial::store {
namespace {

using Live = rocksdb::LiveFileMetaData;

Family family_named(std::string_view name) {
  const auto found = std::ranges::find(family_names, name);
  return static_cast<Family>(found - family_names.begin());
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
  if (is_known && !is_of(*properties, file_bytes, table)) {
    out = {.text = "it is another table, which somebody has put in its place", .way = Way::None};
  }
  return out;
}

// Shows a MANIFEST to its end or its first damage, and with these tables deleted at its end.
class Views {
 public:
  Views(const Manifest& manifest, uint64_t file_bytes)
      : manifest_(manifest), bytes_(manifest.damage ? manifest.damage->offset : file_bytes) {}

  View without(const std::vector<const Live*>& tables) const {
    View view;
    if (manifest_.damage) view.ends[manifest_.name] = bytes_;
    std::vector<ManifestTable> deleted;
    deleted.reserve(tables.size());
    for (const Live* const table : tables) deleted.push_back(in_manifest(*table, manifest_));
    if (!deleted.empty()) view.appended[manifest_.name] = manifest_deletions(bytes_, deleted);
    return view;
  }

 private:
  const Manifest& manifest_;
  const uint64_t bytes_;
};

Result<std::vector<Live>> list_tables(const std::string& db_path, const Options& options,
                                      Failure& failure, View view) {
  view.has_logs = false;
  const Result<Database> db = Database::open_leniently(db_path, options, failure, std::move(view));
  if (!db.ok()) return db.status();
  std::vector<Live> tables;
  (*db)->GetLiveFilesMetaData(&tables);
  std::erase_if(tables, [](const Live& table) {
    return std::ranges::count(family_names, table.column_family_name) == 0;
  });
  return tables;
}

std::unique_ptr<Database> opened(Result<Database> db) {
  return db.ok() ? std::make_unique<Database>(db.take()) : nullptr;
}

// Opens one damaged table without all others, and reads what can be read of it.
class LoneTable {
 public:
  // `alone` shows the database with this table only.
  LoneTable(const std::string& db_path, const Options& options, Failure& failure, View alone,
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
  Failure& failure_;
  View alone_;
  const std::string name_;
  const TableBounds bounds_;
};

}  // namespace

Result<TableDamage> find_damaged_tables(const std::string& db_path, const Options& options,
                                        Failure& failure, const Manifest& manifest) {
  uint64_t manifest_bytes = 0;
  const auto asked = file_system_of(options.env)
                         .GetFileSize(db_path + "/" + manifest.name, {}, &manifest_bytes, nullptr);
  if (!asked.ok()) return Status(StatusCode::Io, asked.ToString());
  const Views views(manifest, manifest_bytes);
  const Result<std::vector<Live>> tables =
      list_tables(db_path, options, failure, views.without({}));
  if (!tables.ok()) return tables.status();
  TableDamage out;
  std::vector<const Live*> damaged;
  for (const Live& table : *tables) {
    TableProblem problem = problem_of(table, options);
    if (problem.text.empty()) continue;
    damaged.push_back(&table);
    std::vector<const Live*> others;
    for (const Live& other : *tables) {
      if (&other != &table) others.push_back(&other);
    }
    OpenedTable& opened = out.tables.emplace_back();
    opened.found = {.family = family_named(table.column_family_name),
                    .file = table.relative_filename,
                    .problem = std::move(problem.text),
                    .time_max = table.largest_seqno + 1};
    LoneTable(db_path, options, failure, views.without(others), table).read(problem.way, opened);
  }
  out.rest = views.without(damaged);
  return out;
}

}  // namespace perennial::store
