#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "engine/delayed_jobs.h"
#include "engine/job.h"
#include "engine/types/stats.h"

namespace perennial::engine {

struct Conn;

// One connection watching one tube. While the connection waits for a job, it is a link of the
// tube's list of waiting connections.
struct WatchLink {
  TubeId tube = 0;
  Conn* conn = nullptr;
  WatchLink* previous = nullptr;
  WatchLink* next = nullptr;
};

// The connections that wait on one tube, the one that has waited longest first. Owns nothing.
class WaitingList {
 public:
  bool empty() const { return first_ == nullptr; }
  Conn& longest() const { return *first_->conn; }
  size_t size() const { return size_; }

  void push_back(WatchLink& link) {
    link.previous = last_;
    link.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &link;
    last_ = &link;
    ++size_;
  }

  void remove(WatchLink& link) {
    (link.previous != nullptr ? link.previous->next : first_) = link.next;
    (link.next != nullptr ? link.next->previous : last_) = link.previous;
    link.previous = link.next = nullptr;
    --size_;
  }

 private:
  WatchLink* first_ = nullptr;
  WatchLink* last_ = nullptr;
  size_t size_ = 0;
};

// A tube: its jobs by state, who uses, watches and waits on it, its pause and its counters. It
// lives while it has a job, a user or a watcher.
struct Tube {
  TubeId id = 0;
  std::string name;
  bool stored = false;      // Whether it has a row: from its first job or pause on.
  uint32_t list_index = 0;  // Its place in the listing.

  JobHeap ready;  // By priority, then id.
  DelayedJobs delayed;
  JobHeap buried;  // By bury sequence.
  uint64_t reserved_count = 0;
  uint64_t urgent_count = 0;

  WaitingList waiting;
  uint64_t using_count = 0;
  uint64_t watching_count = 0;

  Nanos pause = 0;  // How long it was paused for; 0: not paused.
  Nanos pause_until = 0;

  uint64_t total_jobs = 0;
  uint64_t cmd_delete = 0;
  uint64_t cmd_pause_tube = 0;

  // Places in the engine's heaps of tubes: by soonest delayed job, and by end of pause.
  uint32_t delayed_index = not_in_heap;
  uint32_t pause_index = not_in_heap;

  bool paused() const { return pause > 0; }
  size_t job_count() const {
    return ready.size() + delayed.size() + buried.size() + reserved_count;
  }
  bool referenced() const { return job_count() + using_count + watching_count > 0; }
};

}  // namespace perennial::engine
