#include "store/salvage/damaged_tables.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <rocksdb/metadata.h>
#include <rocksdb/sst_file_reader.h>

#include "store/rocks/database.h"
#include "store/salvage/manifest_deletions.h"
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

// Returns what is wrong with a table, or nothing.
std::string problem_of(const Live& table, const Options& options) {
  rocksdb::Options how;
  if (options.env != nullptr) how.env = options.env;
  rocksdb::SstFileReader reader(how);
  rocksdb::Status status = reader.Open(table.directory + "/" + table.relative_filename);
  if (status.ok()) status = reader.VerifyChecksum();
  return status.ok() ? std::string() : status.ToString();
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

// Opens the table without all others.
OpenedTable open_alone(const std::string& db_path, const Options& options, Failure& failure,
                       View view, const Live& table, std::string problem) {
  OpenedTable out = {.found = {.family = family_named(table.column_family_name),
                               .file = table.relative_filename,
                               .problem = std::move(problem),
                               .time_max = table.largest_seqno + 1},
                     .db = nullptr};
  view.has_logs = false;
  Result<Database> db = Database::open_leniently(db_path, options, failure, std::move(view));
  if (db.ok()) out.db = std::make_unique<Database>(db.take());
  probe_table({.first_key = table.smallestkey, .last_key = table.largestkey, .bytes = table.size},
              out);
  return out;
}

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
    std::string problem = problem_of(table, options);
    if (problem.empty()) continue;
    damaged.push_back(&table);
    std::vector<const Live*> others;
    for (const Live& other : *tables) {
      if (&other != &table) others.push_back(&other);
    }
    out.tables.push_back(
        open_alone(db_path, options, failure, views.without(others), table, std::move(problem)));
  }
  out.rest = views.without(damaged);
  return out;
}

}  // namespace perennial::store
