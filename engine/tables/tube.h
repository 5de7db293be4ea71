#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/container/btree_map.h"
#include "engine/containers/concurrency.h"
#include "engine/containers/delayed_jobs.h"
#include "engine/containers/job.h"
#include "engine/containers/owned_by.h"
#include "engine/containers/ready_order.h"
#include "engine/types/boxed.h"
#include "engine/types/job_fields.h"
#include "engine/types/option_values.h"
#include "engine/types/stats.h"

namespace perennial::engine {

struct Conn;
class JobTable;

// The link between a connection and a tube that it watches. While the connection waits for a job,
// the link is an element of the tube's list of waiting connections.
struct WatchLink {
  TubeId tube = 0;
  Conn* conn = nullptr;
  WatchLink* previous = nullptr;
  WatchLink* next = nullptr;
};

// The connections that wait for a job of one tube, the longest wait first. The list owns nothing.
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

// A tube: its jobs by state, the counts of its users and watchers, the waiting connections, its
// pause and its counters. A tube exists while it has a job, a user or a watcher.
struct Tube {
  TubeId id = 0;
  std::string name;
  bool stored = false;      // Whether the tube has a row on disk: from its first job or pause on.
  uint32_t list_index = 0;  // The place of the tube in the listing.

  // ---- Its jobs, by state.
  OwnedBy<JobTable, JobHeap> ready;  // By priority, then id.
  // The jobs with concurrency keys. The ready ones that are behind others of their key are not in
  // `ready`. Null: the tube has had no such job.
  OwnedBy<JobTable, std::unique_ptr<ConcurrencyGroups>> groups;
  OwnedBy<JobTable, ReadyOrder>
      ready_order;  // All ready jobs, by the time since which they are ready.
  OwnedBy<JobTable, DelayedJobs> delayed;
  OwnedBy<JobTable, JobHeap> buried;  // By bury sequence.
  // The ids of its reserved jobs, and since when each is reserved; 0: since before the restart. The
  // jobs themselves are in the heaps of the connections that hold them. A second heap would need a
  // second index in every job, and a flat map would be copied as a whole when it grows. The time is
  // here because few jobs are reserved.
  OwnedBy<JobTable, absl::btree_map<JobId, Nanos>> reserved;
  OwnedBy<JobTable, uint64_t> urgent_count;  // Of the ready ones.

  WaitingList waiting;
  uint64_t using_count = 0;
  uint64_t watching_count = 0;

  Nanos pause = 0;  // The length of the pause; 0 when the tube is not paused.
  Nanos pause_until = 0;

  uint64_t total_jobs = 0;   // Loaded and put.
  uint64_t loaded_jobs = 0;  // By the start.
  uint64_t put_bytes = 0;    // Bodies of those that were put.
  JobEnds job_ends;          // Since the start. A move takes nothing along.
  uint64_t cmd_delete = 0;
  uint64_t cmd_pause_tube = 0;
  uint64_t jobs_duplicate = 0;
  uint64_t jobs_dead = 0;
  uint64_t jobs_expired = 0;
  uint64_t timeouts = 0;
  // Where its waits and runs are counted. Null: only among those of all tubes.
  TubeTimes* times = nullptr;

  // The settings in force. Without a value none is set.
  Boxed<TubeSettings> settings;
  // With settings.rate: the time at which the bucket is full again, and whether it is empty now.
  Nanos rate_full_at = 0;
  bool rate_spent = false;

  // The places of the tube in the engine's heaps, by soonest delayed job, by end of pause, and by
  // the time at which its rate allows the next reservation.
  uint32_t delayed_index = not_in_heap;
  uint32_t pause_index = not_in_heap;
  uint32_t rate_index = not_in_heap;

  bool paused() const { return pause > 0; }
  // Whether its settings forbid a further reservation now.
  bool at_limit() const {
    return settings &&
           (rate_spent || (settings->reserved && reserved->size() >= *settings->reserved));
  }
  // Whether a job may be reserved from it, apart from a pause.
  bool has_servable() const { return !ready->empty() && !at_limit(); }
  size_t ready_count() const { return ready->size() + (groups ? groups->behind() : 0); }
  uint64_t parked_count() const { return groups ? groups->parked() : 0; }
  size_t job_count() const {
    return ready_count() + delayed->size() + buried->size() + reserved->size();
  }
  // How many jobs it has in these states.
  size_t count_in(StateSet states) const {
    return (states.holds(JobState::Ready) ? ready_count() : 0) +
           (states.holds(JobState::Reserved) ? reserved->size() : 0) +
           (states.holds(JobState::Delayed) ? delayed->size() : 0) +
           (states.holds(JobState::Buried) ? buried->size() : 0);
  }
  bool referenced() const { return job_count() + using_count + watching_count > 0; }
};

}  // namespace perennial::engine
