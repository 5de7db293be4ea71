#include "store/salvage/family_merge.h"

#include <algorithm>
#include <utility>

#include "store/rocks/database.h"

namespace perennial::store {
namespace {

// RocksDB's numbers for kinds of entries reach the disk, so they do not change.
constexpr int put_kind = 1;

void note(EntryCursor::Entry& entry, FamilyMerge::Key& key) {
  const uint64_t time = entry.sequence + 1;  // Time 0 means never; 0 is a sequence number, too.
  const bool is_put = entry.type == put_kind;
  if (time > key.trace.newest_time) {
    key.trace.newest_time = time;
    key.trace.newest = is_put ? KeyTrace::Newest::Put : KeyTrace::Newest::Removal;
  }
  if (!is_put || time <= key.trace.put_time) return;
  key.trace.put_time = time;
  key.value = std::move(entry.value);
}

// Takes an entry of the copy's log. The log may still have it.
void note_lost(EntryCursor::Entry entry, FamilyMerge::Key& key) {
  const uint64_t newest = key.trace.newest_time;
  note(entry, key);
  if (key.trace.newest_time == newest) return;
  key.trace.is_of_lost_log = true;
  key.trace.is_of_copy = key.trace.is_put();
}

}  // namespace

FamilyMerge::FamilyMerge(const Database& whole, const std::vector<OpenedTable>& damaged,
                         const Copy& copy, Family family)
    : lost_from_(copy.lost_from) {
  // A database of an older format may have no such family.
  if (copy.db != nullptr && copy.db->family(family) != nullptr) {
    copy_ = std::make_unique<EntryCursor>(*copy.db, family, std::vector<KeySpan>(1));
  }
  if (whole.family(family) != nullptr) {
    cursors_.push_back(std::make_unique<EntryCursor>(whole, family, std::vector<KeySpan>(1)));
  }
  for (const OpenedTable& table : damaged) {
    if (table.found.family != family) continue;
    damaged_.push_back(&table.found);
    if (table.db == nullptr || table.db->family(family) == nullptr) continue;
    cursors_.push_back(std::make_unique<EntryCursor>(*table.db, family, table.readable));
  }
}

std::optional<std::string_view> FamilyMerge::lowest() {
  std::optional<std::string_view> out;
  const auto lower = [&](EntryCursor& cursor) {
    const EntryCursor::Entry* const entry = cursor.peek();
    if (entry != nullptr && (!out || entry->user_key < *out)) out = entry->user_key;
  };
  for (const auto& cursor : cursors_) lower(*cursor);
  if (copy_ != nullptr) lower(*copy_);
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
  if (copy_ != nullptr) take_copy(key, out);
  return out;
}

// What is left says more than the copy, which is older. A compaction that reaches the lowest level
// takes the time from an entry, so times of the copy are not compared with those of what is left.
// Where nothing is hidden the copy's row is gone for good: the job was deleted or moved. But what
// the log has lost is compared by its times, which no compaction has touched.
void FamilyMerge::take_copy(std::string_view key, Key& out) {
  Key copied;
  EntryCursor::Entry* entry = copy_->peek();
  for (; entry != nullptr && entry->user_key == key; entry = copy_->peek()) {
    if (entry->sequence + 1 >= lost_from_) note_lost(*entry, out);
    note(*entry, copied);
    copy_->pop();
  }
  if (copied.trace.is_put() && out.trace.is_of_lost_log) out.copied = std::move(copied.value);
  if (!copied.trace.is_put() || out.trace.is_of_lost_log) return;
  out.copied = std::move(copied.value);
  KeyTrace& trace = out.trace;
  if (trace.put_time != 0) return;
  out.value = *out.copied;
  trace.is_of_copy = true;
  trace.put_time = copied.trace.put_time;
  if (trace.newest != KeyTrace::Newest::None || trace.hidden_time == 0) return;
  trace.newest = KeyTrace::Newest::Put;
  trace.newest_time = std::min(copied.trace.newest_time, trace.hidden_time);
}

const Status& FamilyMerge::status() const {
  for (const auto& cursor : cursors_) {
    if (!cursor->status().ok()) return cursor->status();
  }
  if (copy_ != nullptr && !copy_->status().ok()) return copy_->status();
  static const Status ok;
  return ok;
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
