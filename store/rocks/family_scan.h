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

// Reads one state family in id order on a thread of its own, which runs a little ahead of whoever
// takes the rows. Holds a bounded number of them, however large the family is.
class FamilyScan {
 public:
  FamilyScan(const Database& db, JobState state);
  FamilyScan(const FamilyScan&) = delete;
  FamilyScan& operator=(const FamilyScan&) = delete;
  ~FamilyScan();  // Also when it is not at its end.

  // The row that is next, or null at the end. Then status() says whether it was the end indeed.
  const JobRow* peek();
  void pop() { ++position_; }
  const Status& status() const { return status_; }
  size_t taken() const { return taken_before_ + position_; }

 private:
  using Chunk = std::vector<JobRow>;

  void run();
  Status scan();
  // Gives a chunk to the taker, once there is room. False when nobody wants it any more.
  bool hand_over(Chunk chunk);
  bool take_chunk();

  const Database& db_;  // The store's, which outlives the load.
  const JobState state_;
  Chunk current_;  // The taker's alone, like position_ and status_.
  size_t position_ = 0;
  size_t taken_before_ = 0;
  Status status_;

  std::mutex mutex_;  // Guards what is below: rows pass from the thread to the taker.
  std::condition_variable changed_;
  std::deque<Chunk> chunks_;
  Status scanned_;
  bool done_ = false;
  bool cancelled_ = false;

  std::thread thread_;  // Last, so that it starts when all else is there.
};

}  // namespace perennial::store
