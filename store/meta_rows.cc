#include "store/meta_rows.h"

#include <algorithm>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <rocksdb/iterator.h>

#include "store/rocks_status.h"
#include "store/store_impl.h"

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

// Its id, or 0.
Result<JobId> newest_job(const Database& db, JobState state) {
  const std::unique_ptr<rocksdb::Iterator> row(db->NewIterator({}, db.family(state)));
  row->SeekToLast();
  if (!row->status().ok()) return from_rocksdb(row->status());
  return row->Valid() ? decode_job_key(family_of(state), view(row->key())) : JobId{0};
}

}  // namespace

Status check_version(const Database& db) {
  const Result<std::string> row = read_row(db, MetaTag::FormatVersion);
  if (!row.ok()) return row.status();
  const Result<uint32_t> version = decode_format_version(*row);
  if (!version.ok()) return version.status();
  if (*version == format_version) return {};
  return {StatusCode::Unsupported,
          fmt::format("its format is {}, and this program knows {}", *version, format_version)};
}

Result<CommitRow> read_commit(const Database& db) {
  const Result<std::string> row = read_row(db, MetaTag::Commit);
  return row.ok() ? decode_commit(*row) : row.status();
}

Result<JobId> find_next_id(const Database& db) {
  const Result<std::string> row = read_row(db, MetaTag::NextId);
  if (!row.ok()) return row.status();
  Result<JobId> next_id = decode_next_id(*row);
  if (!next_id.ok()) return next_id;
  for (const JobState state : job_states) {
    const Result<JobId> newest = newest_job(db, state);
    if (!newest.ok()) return newest;
    next_id = std::max(*next_id, *newest + 1);
  }
  return next_id;
}

}  // namespace perennial::store
