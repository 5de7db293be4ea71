#include "cmd/perenniald/core/body_cache.h"

#include <iterator>
#include <utility>

namespace perennial::core {
namespace {

// What an entry costs besides the bytes of its body, roughly.
constexpr size_t entry_bytes = 96;

}  // namespace

std::string_view BodyCache::insert(JobId id, Body body, BatchIndex batch) {
  count(body);
  entries_.push_back({id, batch, std::move(body)});
  by_id_.insert(id, std::prev(entries_.end()));
  shrink();
  return entries_.back().body.view();
}

void BodyCache::erase(JobId id, BatchIndex open_batch) {
  const auto* const found = by_id_.find(id);
  if (found == nullptr) return;
  const auto entry = *found;
  by_id_.erase(id);
  if (entry->batch > written_) {
    erased_.push_back({id, open_batch, std::move(entry->body)});
  } else {
    uncount(*entry);
  }
  entries_.erase(entry);
}

void BodyCache::unpin(BatchIndex written) {
  written_ = written;
  while (!erased_.empty() && erased_.front().batch <= written) {
    uncount(erased_.front());
    erased_.pop_front();
  }
  shrink();
}

void BodyCache::shrink() {
  while (bytes_ > bytes_max_ && !entries_.empty() && entries_.front().batch <= written_) {
    uncount(entries_.front());
    by_id_.erase(entries_.front().id);
    entries_.pop_front();
  }
}

void BodyCache::count(const Body& body) {
  bytes_ += body.capacity() + entry_bytes;
  charge_.set({.memory = bytes_});
}

void BodyCache::uncount(const Entry& entry) {
  bytes_ -= entry.body.capacity() + entry_bytes;
  charge_.set({.memory = bytes_});
  shared_bodies_.on_uncached(entry.id);
}

const Body* BodyCache::find(JobId id) const {
  const auto* const found = by_id_.find(id);
  return found != nullptr ? &(*found)->body : nullptr;
}

}  // namespace perennial::core
