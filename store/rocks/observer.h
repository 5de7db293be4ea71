#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "engine/types/status.h"
#include "store/types/options.h"

namespace rocksdb {
class EventListener;
class Logger;
}  // namespace rocksdb

// What RocksDB tells us unasked, and the one way in which a store fails.
namespace perennial::store {

class CompactionGuard;

// Fails once, and for good. Until it is armed (while the store opens) a failure is kept and not
// reported: open() returns it. Any thread may fail it, because RocksDB's own do.
class Failure {
 public:
  explicit Failure(const Events& events) : events_(events) {}

  void fail(const Status& status);
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  // Why nothing is done any more: "the store has failed before: " and the first failure.
  // REQUIRES: failed().
  Status refusal();
  // From here on the fatal event is sent. Returns what failed before, if anything did.
  Status arm();

 private:
  const Events& events_;  // The store's, which outlives this.
  std::atomic<bool> failed_ = false;
  std::mutex mutex_;  // RocksDB's threads may fail while the opening thread arms.
  Status first_;
  bool armed_ = false;
};

// Passes warnings and worse on as events. RocksDB's own LOG is never written, because its writer
// ends the process when the disk is full.
std::shared_ptr<rocksdb::Logger> make_logger(const Events& events);

// Turns every background error into a failure, and keeps RocksDB from recovering by itself. Only a
// compaction that the guard has stopped is none: it is tried again when there is more room. The
// guard, if there is one, is told which tables compactions make.
std::shared_ptr<rocksdb::EventListener> make_listener(
    Failure& failure, std::shared_ptr<CompactionGuard> guard = nullptr);

}  // namespace perennial::store
