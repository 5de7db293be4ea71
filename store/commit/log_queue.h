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

// The queue between the loop and the committer: batches, and the checkpoints between them, in
// order. One thread pushes and another takes.
class LogQueue {
 public:
  // A request to create a checkpoint in this directory.
  struct CheckpointItem {
    std::string dir;
  };
  using Item = std::variant<Batch, CheckpointItem>;

  // Returns whether no item waits and no item that was taken is in work. May be called on any
  // thread.
  bool idle() const { return count_.load(std::memory_order_acquire) == 0; }

  // REQUIRES: stop() was not called.
  void push(Item&& item);
  // Makes take() return without waiting from now on.
  void stop();

  // Takes the oldest item, and waits for one for at most `timeout`. None: there was no item in that
  // time, or the queue was stopped and is empty.
  std::optional<Item> take(Nanos timeout);
  // Marks the item that was taken last as done. Without this call the queue stays busy.
  void done() { count_.fetch_sub(1, std::memory_order_release); }
  // Makes the queue busy for ever.
  void block() { count_.fetch_add(1, std::memory_order_release); }
  // Returns whether the queue was stopped and all items were taken.
  bool ended() const;

 private:
  // Items that wait or are in work. Apart from items_, so that idle() takes no lock.
  std::atomic<size_t> count_ = 0;
  mutable std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  std::deque<Item> items_;
  bool stopped_ = false;
};

}  // namespace perennial::store
