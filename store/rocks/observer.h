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

// The logger and the listener that RocksDB calls, and the failure of a store.
namespace perennial::store {

class CompactionGuard;
class Containment;

// The first failure of a store, which is final. Until arm() is called, while the store opens, a
// failure is kept and not reported, because open() returns it. Thread-safe: RocksDB's threads call
// fail(), too.
class Failure {
 public:
  explicit Failure(const Events& events) : events_(events) {}

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

// Makes a logger that passes warnings and errors on as events. RocksDB's own LOG file is not used,
// because its writer aborts the process when the disk is full.
std::shared_ptr<rocksdb::Logger> make_logger(const Events& events);

// Makes a listener that turns every background error into a failure, and disables RocksDB's own
// error recovery. A compaction that the guard has stopped is no failure: it is tried again when
// more space is free. Nor is one that has met damage of bodies which is contained. The guard may be
// null; otherwise it is called for each table of a compaction. So may `containment`, which outlives
// the listener.
std::shared_ptr<rocksdb::EventListener> make_listener(
    Failure& failure, std::shared_ptr<CompactionGuard> guard = nullptr,
    Containment* containment = nullptr);

}  // namespace perennial::store
