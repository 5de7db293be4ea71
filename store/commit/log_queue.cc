#include "store/commit/log_queue.h"

#include <chrono>
#include <utility>

#include "engine/types/check.h"

namespace perennial::store {

void LogQueue::push(Item&& item) {
  count_.fetch_add(1, std::memory_order_release);
  {
    const std::lock_guard lock(mutex_);
    CHECK(!stopped_);
    items_.push_back(std::move(item));
  }
  changed_.notify_one();
}

void LogQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
}

std::optional<LogQueue::Item> LogQueue::take(Nanos timeout) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(timeout),
                    [this] { return !items_.empty() || stopped_; });
  std::optional<Item> item;
  if (items_.empty()) return item;
  item.emplace(std::move(items_.front()));
  items_.pop_front();
  return item;
}

bool LogQueue::ended() const {
  const std::lock_guard lock(mutex_);
  return stopped_ && items_.empty();
}

}  // namespace perennial::store
