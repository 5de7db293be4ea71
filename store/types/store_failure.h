#pragma once

#include <atomic>
#include <mutex>

#include "engine/types/status.h"
#include "store/types/options.h"

namespace perennial::store {

// The first failure of a store, which is final: why, and what follows from it, is said at
// Store::Impl::fail_on_error() in write.cc. Until arm() is called, while the store opens, a failure
// is kept and not reported, because open() returns it. Thread-safe: RocksDB's threads call fail(),
// too.
class StoreFailure {
 public:
  explicit StoreFailure(const Events& events) : events_(events) {}

  void fail(const Status& status);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // The status of every later call: "the store has failed before: " and the first failure.
  // REQUIRES: failed().
  Status refusal();
  // From here on a failure sends the fatal event. Returns the failure that happened before, if any.
  Status arm();

 private:
  const Events& events_;  // The store's, which outlives this.
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // RocksDB's threads may call fail() while the opening thread calls arm().
  Status first_;
  bool armed_ = false;
};

}  // namespace perennial::store
