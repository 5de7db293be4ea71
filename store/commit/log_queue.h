#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "engine/types/basic.h"
#include "store/batch/batch.h"

namespace perennial::store {

// What the loop has given to the thread that writes: batches, and the cuts that lie between them,
// in the order in which they came. One thread pushes, another takes; it decides nothing.
class LogQueue {
 public:
  // A checkpoint to be cut into this directory.
  struct Cut {
    std::string dir;
  };
  using Item = std::variant<Batch, Cut>;

  // From any thread: whether nothing waits and nothing that was taken is at work.
  bool idle() const { return count_.load(std::memory_order_acquire) == 0; }

  // REQUIRES: stop() was not called.
  void push(Item&& item);
  // From here on take() does not wait.
  void stop();

  // The oldest, when there is one. None: for so long there was nothing, or it has been stopped.
  std::optional<Item> take(Nanos at_most);
  // The item that was taken last is done. An item for which this is never said keeps it busy.
  void done() { count_.fetch_sub(1, std::memory_order_release); }
  // Makes it busy for ever.
  void block() { count_.fetch_add(1, std::memory_order_release); }
  // Whether it was stopped and everything has been taken.
  bool ended() const;

 private:
  std::atomic<size_t> count_ = 0;
  mutable std::mutex mutex_;  // Guards what follows.
  std::condition_variable changed_;
  std::deque<Item> items_;
  bool stopped_ = false;
};

}  // namespace perennial::store
