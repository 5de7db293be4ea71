#include "tests/migrations/widen_rows.h"

#include <algorithm>
#include <array>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include "engine/types/check.h"
#include "store/rocks/rocksdb_versions.h"

namespace perennial::migrations {
namespace {

constexpr std::array<std::string_view, 4> families = {"ready", "reserved", "delayed", "buried"};
constexpr size_t old_bytes = 64;
constexpr size_t new_bytes = 72;
constexpr int batch_rows = 2;

// A frozen decoder of format 4, which does not follow changes of the store.
Result<std::string> widen(std::string_view family, std::string_view row) {
  const bool is_plain = row.size() == old_bytes && row[0] == 1;
  const bool has_fields = row.size() > old_bytes && row[0] == 2;
  if (!is_plain && !has_fields) {
    return Status(StatusCode::Corruption,
                  fmt::format("{} holds a row that is no format 4", family));
  }
  std::string wide(row);
  wide[0] = 3;
  wide.insert(old_bytes, new_bytes - old_bytes, '\0');
  return wide;
}

// Converts the rows of one family, from the key after `last` on. The progress is the family and its
// last converted key.
Status widen_family(Rewrite& rewrite, std::string_view name, std::string last) {
  rocksdb::ColumnFamilyHandle* const family = rewrite.family(name);
  while (true) {
    const std::unique_ptr<rocksdb::Iterator> at(rewrite.db().NewIterator({}, family));
    rocksdb::WriteBatch batch = rewrite.new_batch();
    int rows = 0;
    at->Seek(last);
    if (at->Valid() && !last.empty() && at->key() == last) at->Next();
    for (; at->Valid() && rows < batch_rows; at->Next(), ++rows) {
      const Result<std::string> wide = widen(name, at->value().ToStringView());
      if (!wide.ok()) return wide.status();
      CHECK(batch.SingleDelete(family, at->key()).ok());
      CHECK(batch.Put(family, at->key(), *wide).ok());
      last = at->key().ToString();
    }
    if (!at->status().ok()) return {StatusCode::Io, at->status().ToString()};
    if (rows == 0) return {};
    Status done = rewrite.commit(batch, std::string(name) + ' ' + last);
    if (!done.ok()) return done;
  }
}

Status run(Rewrite& rewrite) {
  const std::string progress = rewrite.progress();
  const size_t space = progress.find(' ');
  const std::string stopped_in = progress.substr(0, space);
  bool is_reached = progress.empty();
  for (const std::string_view family : families) {
    const bool is_here = family == stopped_in;
    is_reached = is_reached || is_here;
    if (!is_reached) continue;
    Status done = widen_family(rewrite, family, is_here ? progress.substr(space + 1) : "");
    if (!done.ok()) return done;
  }
  return {};
}

std::string hex(const rocksdb::Slice& bytes) {
  return bytes.ToString(true);
}

}  // namespace

Step widen_rows_step() {
  return {.from = 5, .to = 6, .name = "0006_widen_rows", .run = run};
}

std::string raw_rows(const std::string& data_dir) {
  const std::string path = data_dir + "/db";
  std::vector<std::string> names;
  CHECK(rocksdb::DB::ListColumnFamilies({}, path, &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> wanted;
  for (const std::string& name : names) wanted.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  CHECK(store::open_db_for_read_only(db, rocksdb::DBOptions(), path, wanted, &handles).ok());
  std::string out;
  for (rocksdb::ColumnFamilyHandle* const family : handles) {
    const std::unique_ptr<rocksdb::Iterator> at(db->NewIterator({}, family));
    for (at->SeekToFirst(); at->Valid(); at->Next()) {
      if (at->key() == "c") continue;
      out += fmt::format("{} {} {}\n", family->GetName(), hex(at->key()), hex(at->value()));
    }
    CHECK(at->status().ok());
  }
  for (rocksdb::ColumnFamilyHandle* const family : handles) {
    CHECK(db->DestroyColumnFamilyHandle(family).ok());
  }
  return out;
}

std::string widened(const std::string& rows) {
  std::istringstream in(rows);
  std::string out;
  std::string family;
  std::string key;
  std::string value;
  while (in >> family >> key >> value) {
    const bool is_job = std::ranges::find(families, family) != families.end();
    if (is_job) {
      value = "03" + value.substr(2);
      value.insert(2 * old_bytes, 2 * (new_bytes - old_bytes), '0');
    }
    if (family == "default" && key == "66") value = "0100000006000000";
    out += fmt::format("{} {} {}\n", family, key, value);
  }
  return out;
}

std::string in_format(uint8_t format, const std::string& rows) {
  constexpr std::string_view before_version = "default 66 01000000";
  std::string out = rows;
  const size_t at = out.find(before_version);
  CHECK(at != std::string::npos);
  return out.replace(at + before_version.size(), 2, fmt::format("{:02x}", format));
}

}  // namespace perennial::migrations
