#include "tests/migrations/rename_family.h"

#include <memory>
#include <sstream>

#include <fmt/format.h>
#include <rocksdb/db.h>
#include <rocksdb/iterator.h>
#include <rocksdb/write_batch.h>

#include "engine/types/check.h"

namespace perennial::migrations {
namespace {

constexpr std::array<std::string_view, 11> new_names = {
    "default", "ready", "reserved",    "delayed",   "bodies", "keys",
    "notes",   "ended", "ended_order", "schedules", "asleep"};
constexpr std::array<store::FamilyNames, 6> formats = {
    store::format_families[0], store::format_families[1], store::format_families[2],
    store::format_families[3], store::format_families[4], store::FamilyNames(new_names)};
constexpr int batch_rows = 2;

// Rows that were moved are no longer in the old family, so the progress only has to say that the
// step has begun.
Status run(Rewrite& rewrite) {
  rocksdb::ColumnFamilyHandle* const from = rewrite.family("buried");
  rocksdb::ColumnFamilyHandle* const to = rewrite.family("asleep");
  while (true) {
    const std::unique_ptr<rocksdb::Iterator> at(rewrite.db().NewIterator({}, from));
    rocksdb::WriteBatch batch = rewrite.new_batch();
    int rows = 0;
    for (at->SeekToFirst(); at->Valid() && rows < batch_rows; at->Next(), ++rows) {
      CHECK(batch.SingleDelete(from, at->key()).ok());
      CHECK(batch.Put(to, at->key(), at->value()).ok());
    }
    if (!at->status().ok()) return {StatusCode::Io, at->status().ToString()};
    if (rows == 0) return {};
    Status done = rewrite.commit(batch, "begun");
    if (!done.ok()) return done;
  }
}

}  // namespace

std::span<const store::FamilyNames> renamed_families() {
  return formats;
}

Step rename_family_step() {
  return {.from = 5, .to = 6, .name = "0006_rename_family", .run = run};
}

// raw_rows() lists the new family last.
std::string renamed(const std::string& rows) {
  std::istringstream in(rows);
  std::string out;
  std::string moved;
  std::string family;
  std::string key;
  std::string value;
  while (in >> family >> key >> value) {
    if (family == "default" && key == "66") value = "0100000006000000";
    const bool is_moved = family == "buried";
    (is_moved ? moved : out) += fmt::format("{} {} {}\n", is_moved ? "asleep" : family, key, value);
  }
  return out + moved;
}

}  // namespace perennial::migrations
