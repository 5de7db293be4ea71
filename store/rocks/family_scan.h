#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"

namespace perennial::store {

class Database;

// Reads one state family in the order of ids, on a thread of its own that runs ahead of the caller.
// It holds a bounded number of rows, however large the family is.
class FamilyScan {
 public:
  FamilyScan(const Database& db, JobState state);
  FamilyScan(const FamilyScan&) = delete;
  FamilyScan& operator=(const FamilyScan&) = delete;
  ~FamilyScan();  // Stops a scan that is not at its end.

  // Returns the next row, or null at the end. After null, status() says whether the scan failed.
  const JobRow* peek();
  void pop() { ++position_; }
  const Status& status() const { return status_; }
  size_t taken() const { return taken_before_ + position_; }

 private:
  using Chunk = std::vector<JobRow>;

  void run();
  Status scan();
  // Waits for a free slot in the queue and adds the chunk. False: the scan was cancelled.
  bool hand_over(Chunk chunk);
  bool take_chunk();

  const Database& db_;  // The store's, which outlives the load.
  const JobState state_;
  Chunk current_;  // Only the caller's thread uses it, position_, taken_before_ and status_.
  size_t position_ = 0;
  size_t taken_before_ = 0;
  Status status_;

  std::mutex mutex_;  // Guards the members below: rows pass from the thread to the caller.
  std::condition_variable changed_;
  std::deque<Chunk> chunks_;
  Status scanned_;
  bool done_ = false;
  bool cancelled_ = false;

  std::thread thread_;  // It is last, so that it starts after the other members are constructed.
};

}  // namespace perennial::store
