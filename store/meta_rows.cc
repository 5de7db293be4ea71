#include "store/meta_rows.h"

#include <string>

#include <fmt/format.h>

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

Result<JobId> read_next_id(const Database& db) {
  const Result<std::string> row = read_row(db, MetaTag::NextId);
  return row.ok() ? decode_next_id(*row) : row.status();
}

}  // namespace perennial::store
