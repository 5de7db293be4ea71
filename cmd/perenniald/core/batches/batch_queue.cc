#include "cmd/perenniald/core/batches/batch_queue.h"

#include <algorithm>

#include "engine/types/check.h"
#include "engine/types/later.h"

namespace perennial::core {
namespace {

// The number of operations at which the open batch is sealed. A batch is written as a whole and
// replayed as a whole at a start, so its size bounds the memory and time of both.
constexpr size_t batch_operations_max = 20'000;

}  // namespace

void BatchQueue::resume(uint64_t epoch, BatchIndex last_index) {
  CHECK(empty());
  epoch_ = epoch;
  open_index_ = last_index + 1;
  last_promised_ = committed_ = durable_ = last_index;
}

bool BatchQueue::open_is_full() const {
  return open_.bytes() >= limits_.bytes_max || open_.operations() >= batch_operations_max;
}

void BatchQueue::begin_input(size_t body_bytes, Nanos now) {
  const bool would_be_full = open_is_full() || open_.bytes() + body_bytes > limits_.bytes_max;
  if (would_be_full) seal(now);
  if (open_.empty()) open_since_ = now;
}

void BatchQueue::add(const Transition& transition, std::string_view body) {
  const size_t bytes_before = open_.bytes();
  open_.add(transition, body);
  pending_bytes_ += open_.bytes() - bytes_before;
  if (open_.promised()) last_promised_ = open_index_;
}

void BatchQueue::seal(Nanos now) {
  if (open_.empty()) return;
  open_.seal({.epoch = epoch_, .index = open_index_, .known_durable = durable_, .now = now});
  pending_sizes_.emplace_back(open_index_, open_.bytes());
  sealed_.push_back(std::move(open_));
  ++open_index_;
  if (spare_.empty()) {
    open_ = store::Batch();
  } else {
    open_ = std::move(spare_.back());
    spare_.pop_back();
  }
}

bool BatchQueue::is_due(Nanos now, Nanos wait_until) const {
  if (!sealed_.empty()) return true;
  if (open_.empty()) return false;
  if (open_is_full() || now - open_since_ >= limits_.idle) return true;
  return open_.promised() && now >= wait_until;
}

std::optional<Nanos> BatchQueue::due_at(Nanos wait_until) const {
  if (open_.empty()) return std::nullopt;
  const Nanos due = later(open_since_, limits_.idle);
  return open_.promised() && wait_until > 0 ? std::min(due, wait_until) : due;
}

bool BatchQueue::is_large() const {
  return !sealed_.empty() ||
         (open_.promised() && open_.operations() > store::small_batch_operations_max);
}

store::Batch BatchQueue::take(Nanos now) {
  CHECK(!empty());
  if (sealed_.empty()) seal(now);
  store::Batch batch = std::move(sealed_.front());
  sealed_.pop_front();
  return batch;
}

void BatchQueue::recycle(store::Batch&& batch) {
  constexpr size_t spare_max = 4;
  if (spare_.size() == spare_max) return;
  batch.clear();
  spare_.push_back(std::move(batch));
}

void BatchQueue::on_committed(BatchIndex committed, BatchIndex durable) {
  CHECK(durable <= committed);
  CHECK(committed < open_index_);
  durable_ = std::max(durable_, durable);
  committed_ = std::max(committed_, committed);
  while (!pending_sizes_.empty() && pending_sizes_.front().first <= committed_) {
    pending_bytes_ -= pending_sizes_.front().second;
    pending_sizes_.pop_front();
  }
}

}  // namespace perennial::core
