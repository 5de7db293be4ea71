#include "store/salvage/entry_cursor.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <rocksdb/db.h>

#include "store/rocks/database.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

constexpr size_t batch_bytes = 4 << 20;
constexpr size_t entries_min = 2;
constexpr size_t entries_max = 1 << 16;

}  // namespace

std::string key_after(std::string_view key) {
  return std::string(key) + '\0';
}

EntryCursor::EntryCursor(const Database& db, Family family, std::vector<KeySpan> spans)
    : db_(db), family_(family), spans_(std::move(spans)), batch_entries_max_(entries_min) {
  if (!spans_.empty()) from_ = spans_.front().first;
}

EntryCursor::Entry* EntryCursor::peek() {
  while (position_ == batch_.size()) {
    if (!fill()) return nullptr;
  }
  return &batch_[position_];
}

// A key with more entries than fit into a batch loses its oldest ones, which no reader needs.
bool EntryCursor::fill() {
  if (span_ == spans_.size() || !status_.ok()) return false;
  fit_batch();
  batch_.clear();
  position_ = 0;
  const auto read =
      rocksdb::GetAllKeyVersions(&*db_, db_.family(family_), slice(from_),
                                 slice(spans_[span_].last), batch_entries_max_, &batch_);
  if (!read.ok()) {
    status_ = from_rocksdb(read);
    return false;
  }
  if (batch_.size() == batch_entries_max_) {
    from_ = key_after(batch_.back().user_key);
    return true;
  }
  if (spans_[span_].last.empty()) check_end(batch_.empty() ? from_ : batch_.back().user_key);
  ++span_;
  if (span_ < spans_.size()) from_ = spans_[span_].first;
  return status_.ok();
}

// GetAllKeyVersions() does not say why it has ended.
void EntryCursor::check_end(std::string_view last) {
  const std::unique_ptr<rocksdb::Iterator> at(db_->NewIterator({}, db_.family(family_)));
  at->Seek(slice(key_after(last)));
  if (!at->status().ok()) status_ = from_rocksdb(at->status());
}

void EntryCursor::fit_batch() {
  if (batch_.empty()) return;
  size_t bytes = 1;
  for (const Entry& entry : batch_)
    bytes += entry.user_key.size() + entry.value.size() + sizeof entry;
  const size_t mean = bytes / batch_.size() + 1;
  batch_entries_max_ = std::clamp(batch_bytes / mean, entries_min, entries_max);
}

}  // namespace perennial::store
