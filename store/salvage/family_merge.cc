#include "store/salvage/family_merge.h"

#include <algorithm>
#include <utility>

#include "store/rocks/database.h"

namespace perennial::store {
namespace {

// RocksDB's numbers for kinds of entries reach the disk, so they do not change.
constexpr int put_kind = 1;

void note(EntryCursor::Entry& entry, FamilyMerge::Key& key) {
  const uint64_t time = entry.sequence + 1;
  const bool is_put = entry.type == put_kind;
  if (time > key.trace.newest_time) {
    key.trace.newest_time = time;
    key.trace.newest = is_put ? KeyTrace::Newest::Put : KeyTrace::Newest::Removal;
  }
  if (!is_put || time <= key.trace.put_time) return;
  key.trace.put_time = time;
  key.value = std::move(entry.value);
}

}  // namespace

FamilyMerge::FamilyMerge(const Database& whole, const std::vector<OpenedTable>& damaged,
                         Family family) {
  cursors_.push_back(std::make_unique<EntryCursor>(whole, family, std::vector<KeySpan>(1)));
  for (const OpenedTable& table : damaged) {
    if (table.found.family != family) continue;
    damaged_.push_back(&table.found);
    if (table.db == nullptr) continue;
    cursors_.push_back(std::make_unique<EntryCursor>(*table.db, family, table.readable));
  }
}

std::optional<std::string_view> FamilyMerge::lowest() {
  std::optional<std::string_view> out;
  for (const auto& cursor : cursors_) {
    const EntryCursor::Entry* const entry = cursor->peek();
    if (entry != nullptr && (!out || entry->user_key < *out)) out = entry->user_key;
  }
  return out;
}

FamilyMerge::Key FamilyMerge::take(std::string_view key) {
  Key out;
  for (const auto& cursor : cursors_) {
    EntryCursor::Entry* entry = cursor->peek();
    for (; entry != nullptr && entry->user_key == key; entry = cursor->peek()) {
      note(*entry, out);
      cursor->pop();
    }
  }
  out.trace.hidden_time = hidden_time(key);
  return out;
}

const Status& FamilyMerge::status() const {
  for (const auto& cursor : cursors_) {
    if (!cursor->status().ok()) return cursor->status();
  }
  return cursors_.front()->status();
}

uint64_t FamilyMerge::hidden_time(std::string_view key) const {
  uint64_t out = 0;
  for (const DamagedTable* const table : damaged_) {
    const bool is_hidden =
        std::ranges::any_of(table->unreadable, [&](const UnreadableRange& range) {
          return range.first_key <= key && key < range.end_key;
        });
    if (is_hidden) out = std::max(out, table->time_max);
  }
  return out;
}

}  // namespace perennial::store
