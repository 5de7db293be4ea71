#include "store/rocks/meta_rows.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/damage/damaged_blocks.h"
#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

Result<std::string> read_row(const Database& db, MetaTag tag) {
  std::string value;
  const auto key = meta_key(tag);
  const auto got = db->Get({}, db.family(Family::Meta), slice(view(key)), &value);
  if (got.IsNotFound()) return damaged(Family::Meta, view(key), "the row is missing");
  if (!got.ok()) return from_rocksdb(got);
  return value;
}

// Returns the highest id of a family, or 0 if the family is empty or not there, or if it is one
// that no start loads and its last rows cannot be read: damage there refuses no start.
Result<JobId> newest_job(const Database& db, Family family) {
  if (db.family(family) == nullptr) return JobId{0};
  const TableErrors errors;
  const std::unique_ptr<rocksdb::Iterator> row(db->NewIterator({}, db.family(family)));
  row->SeekToLast();
  if (!is_loaded(family) && errors.contains(row->status())) return JobId{0};
  if (!row->status().ok()) return from_rocksdb(row->status());
  return row->Valid() ? decode_job_key(family, view(row->key())) : JobId{0};
}

}  // namespace

std::string served_formats(const Options& options) {
  return options.format_min == options.format
             ? std::to_string(options.format)
             : fmt::format("{} to {}", options.format_min, options.format);
}

Result<StoredFormat> read_format(const Database& db) {
  const Result<std::string> row = read_row(db, MetaTag::FormatVersion);
  if (!row.ok()) return row.status();
  const Result<uint32_t> version = decode_format_version(*row);
  if (!version.ok()) return version.status();
  StoredFormat found = {.version = *version, .migration = {}};
  std::string value;
  const auto key = meta_key(MetaTag::Migration);
  const auto got = db->Get({}, db.family(Family::Meta), slice(view(key)), &value);
  if (got.IsNotFound()) return found;
  if (!got.ok()) return from_rocksdb(got);
  Result<MigrationRow> migration = decode_migration(value);
  if (!migration.ok()) return migration.take_status();
  found.migration = migration.take();
  return found;
}

WantedFamilies wanted_families(const StoredFormat& found, const Options& options) {
  const auto of = [&](uint32_t format) { return families_of(format, options.families); };
  const auto add = [](std::vector<std::string_view>& to, FamilyNames names) {
    to.insert(to.end(), names.begin(), names.end());
  };
  WantedFamilies out;
  add(out.needed, of(found.version));
  // Store::Impl::begin_format() makes families before the batch that raises the version.
  if (is_served(found.version)) add(out.possible, of(std::min(options.format, format_version)));
  if (!found.migration) return out;
  const uint32_t to = found.migration->to;
  // RawStore makes the new families before the step has written any progress.
  add(found.migration->progress.empty() ? out.possible : out.needed, of(to));
  if (to > 1) add(out.possible, of(to - 1));  // RawStore drops the old ones when the step is done.
  return out;
}

Status check_families(const Database& db, const Options& options) {
  const Result<StoredFormat> found = read_format(db);
  if (!found.ok()) return found.status();
  const WantedFamilies wanted = wanted_families(*found, options);
  for (const std::string_view name : wanted.needed) {
    if (db.has_family(name)) continue;
    return {StatusCode::Corruption, fmt::format("the family {} is missing, and belongs to format "
                                                "{}; restore a checkpoint",
                                                name, found->version)};
  }
  for (const std::string& name : db.family_names()) {
    if (std::ranges::count(wanted.needed, name) + std::ranges::count(wanted.possible, name) > 0) {
      continue;
    }
    return {StatusCode::Unsupported,
            fmt::format("it has a family {}, which only a newer version knows", name)};
  }
  return {};
}

Status check_format(const StoredFormat& found, const Options& options) {
  if (found.version > options.format) {
    return {StatusCode::Unsupported,
            fmt::format("its format is {}, which only a newer program reads: this one knows {}; "
                        "start the newer one, or restore a checkpoint that was made before",
                        found.version, options.format)};
  }
  if (options.takes_older) return {};
  if (found.migration) {
    return {StatusCode::Unsupported,
            fmt::format("a migration of it to format {} was cut short: run perennial migrate "
                        "--data-dir {}, which goes on where it stopped",
                        found.migration->to, options.data_dir)};
  }
  if (found.version >= options.format_min) return {};
  return {StatusCode::Unsupported,
          fmt::format("its format is {}, and this program reads and writes {}: run perennial "
                      "migrate --data-dir {}, which takes a checkpoint first",
                      found.version, served_formats(options), options.data_dir)};
}

Status check_version(const Database& db, const Options& options) {
  const Result<StoredFormat> found = read_format(db);
  return found.ok() ? check_format(*found, options) : found.status();
}

Result<std::string> read_cluster_id(const Database& db) {
  std::string value;
  const auto key = meta_key(MetaTag::Cluster);
  const auto got = db->Get({}, db.family(Family::Meta), slice(view(key)), &value);
  if (got.IsNotFound()) return std::string();
  if (!got.ok()) return from_rocksdb(got);
  return decode_cluster_id(value);
}

Result<CommitRow> read_commit(const Database& db) {
  const Result<std::string> row = read_row(db, MetaTag::Commit);
  return row.ok() ? decode_commit(*row) : row.status();
}

// The row is written durably before any id above it is given out. Jobs are looked at nevertheless:
// an id that a job has must never be given out again, even if the row is wrong.
Result<JobId> find_next_id(const Database& db) {
  const Result<std::string> row = read_row(db, MetaTag::NextId);
  if (!row.ok()) return row.status();
  Result<JobId> next_id = decode_next_id(*row);
  if (!next_id.ok()) return next_id;
  for (const Family family :
       {Family::Ready, Family::Reserved, Family::Delayed, Family::Buried, Family::Ended}) {
    Result<JobId> newest = newest_job(db, family);
    if (!newest.ok()) return newest;
    next_id = std::max(*next_id, *newest + 1);
  }
  return next_id;
}

}  // namespace perennial::store
