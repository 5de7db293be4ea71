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

// Gives disk back when little is written: flushes everything when the log is long, and compacts
// what is mostly tombstones. On a thread of its own, so that no commit waits for it; it is apart
// from the committer because a compaction takes as long as it takes. P8.
class Housekeeper {
 public:
  explicit Housekeeper(Store& store);
  ~Housekeeper() { stop(); }

  // Has a thread look() every second.
  void start();
  // Breaks off what it is at.
  void stop();

  // Notes the log files, makes the ballast, and tidies up if it is time. REQUIRES: no thread was
  // started, or this is it.
  void look(Nanos now);

  // The oldest and the newest log file at the last look.
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
  uint64_t tidied_bytes_ = 0;  // How much had been written when it last tidied up.
  std::atomic<uint64_t> oldest_index_ = 0;
  std::atomic<uint64_t> newest_index_ = 0;

  std::mutex mutex_;  // For stopping_ and its signal.
  std::condition_variable changed_;
  bool stopping_ = false;
  std::atomic<bool> cancelled_ = false;  // RocksDB watches it during a compaction.
  std::thread thread_;
};

}  // namespace perennial::store
