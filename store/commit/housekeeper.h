#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "engine/types/basic.h"
#include "store/rocks/log_files.h"
#include "store/store.h"

namespace perennial::store {

// Frees disk space while few bytes are written: it flushes everything when the log is long, and
// compacts tables that are mostly tombstones. It reads tables again to find damage. It has its own
// thread, because a compaction may be long and no commit may wait for it. P8.
class Housekeeper {
 public:
  explicit Housekeeper(Store& store);
  ~Housekeeper() { stop(); }

  // Starts a thread that calls poll() every second.
  void start();
  // Cancels a compaction that runs, and ends the thread.
  void stop();

  // Notes the log files, makes the ballast if it is missing, and flushes and compacts if that is
  // due. REQUIRES: no thread was started, or this thread calls.
  void poll(Nanos now);

  // The numbers of the oldest and the newest log file at the last poll.
  uint64_t log_oldest_index() const { return oldest_index_.load(std::memory_order_relaxed); }
  uint64_t log_newest_index() const { return newest_index_.load(std::memory_order_relaxed); }

 private:
  void run();
  void note_logs(const LogFiles& logs);
  bool is_time(Nanos now, uint64_t written);
  void tidy(const LogFiles& logs);

  Store& store_;  // Outlives this.
  Nanos quiet_since_ = 0;
  Nanos tidied_at_ = 0;
  uint64_t quiet_from_bytes_ = 0;
  uint64_t tidied_bytes_ = 0;  // The bytes that had been written at the last tidy().
  std::atomic<uint64_t> oldest_index_ = 0;
  std::atomic<uint64_t> newest_index_ = 0;

  std::mutex mutex_;  // Guards stopping_, for changed_.
  std::condition_variable changed_;
  bool stopping_ = false;
  std::atomic<bool> cancelled_ = false;  // RocksDB reads it during a compaction.
  std::thread thread_;
};

}  // namespace perennial::store
