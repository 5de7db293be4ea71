#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/container/btree_set.h"
#include "engine/containers/job.h"
#include "engine/containers/job_pool.h"
#include "engine/tables/conn_table.h"
#include "engine/tables/field_table.h"
#include "engine/tables/tube_table.h"
#include "engine/tables/turn.h"
#include "engine/types/basic.h"
#include "engine/types/command.h"
#include "engine/types/id_map.h"
#include "engine/types/input.h"
#include "engine/types/stats.h"
#include "engine/types/transition.h"

namespace perennial::engine {

// The jobs, and everything that is kept of the state that a job is in: the heaps of its tube and
// of its connection, the order of expiries, concurrency groups, counts. Owns the jobs. It is the
// only class that edits these; whoever changes a job passes the change to it, and it keeps them
// true and says in a transition what changed. It does not decide what becomes of a job:
// engine/rules.
//
// It has more functions than other classes, because no other may touch a heap.
class JobTable {
 public:
  // REQUIRES: all outlive it.
  JobTable(const Limits& limits, Turn& turn, FieldTable& fields, TubeTable& tubes, ConnTable& conns)
      : limits_(limits), turn_(turn), fields_(fields), tubes_(tubes), conns_(conns) {}
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  // ---- Which jobs there are. A pointer is valid until the job is removed; null: there is none.
  Job* find(JobId id) {
    Job** const job = jobs_.find(id);
    return job != nullptr ? *job : nullptr;
  }
  const Job* find(JobId id) const { return const_cast<JobTable*>(this)->find(id); }
  // The job if this connection has reserved it.
  Job* find_reserved(const Conn& conn, JobId id);
  // The job if this connection may delete or change it: nobody else has reserved it.
  Job* find_free(const Conn& conn, JobId id);
  // The job with the least id that is not below.
  Job* first_from(JobId id) {
    const auto entry = jobs_.first_from(id);
    return entry.value != nullptr ? *entry.value : nullptr;
  }
  const Job* first_from(JobId id) const { return const_cast<JobTable*>(this)->first_from(id); }
  // The job with the greatest id that is not above.
  const Job* last_to(JobId id) const {
    const auto entry = jobs_.last_to(id);
    return entry.value != nullptr ? *entry.value : nullptr;
  }
  size_t size() const { return jobs_.size(); }

  // ---- Ids. All below have been given out.
  JobId next_id() const { return next_id_; }
  JobId take_id() { return next_id_++; }
  // What the last NextIdRaised said.
  JobId id_limit() const { return id_limit_; }

  // ---- Changes.
  // Adds a job, ready or delayed. Its key is not held yet. `origin`: the schedule that puts it.
  Job& add(Tube& tube, const Put& put, const ScheduleOrigin* origin = nullptr);
  // Adds a job that is as one was that has ended, with a new id. One that was reserved is ready; so
  // is one whose delay is over, and one that had expired expires no more. A buried one is where it
  // was among the buried ones. Its key is not held yet.
  Job& add_again(Tube& tube, const JobRow& ended);
  // `edit` changes the job, which is in no heap meanwhile. `promised`: as in JobMoved.
  template <typename Edit>
  void change(Job& job, bool promised, Edit edit) {
    const JobState before = job.state;
    const Nanos since = leave(job);
    edit();
    enter(job, job.state == before ? since : turn_.now());
    turn_.emit_counted(JobMoved{job.id, before, row_of(job), promised});
  }
  // `order` becomes the job's order: a deadline, or 0 for a ready job, whose order follows from the
  // time.
  void move(Job& job, JobState to, uint64_t order, bool promised);
  void bury(Job& job, bool promised);
  // A reserved job stays reserved until then. `conn`: that of the job.
  void extend(Conn& conn, Job& job, Nanos until);
  // The job begins anew: it has all its tries again, and no expiry.
  void renew(Job& job);
  // Removes the job. `at_end` runs while it is in no heap any more, and has its fields still.
  template <typename AtEnd>
  void remove(Job& job, bool promised, AtEnd at_end) {
    leave(job);
    body_bytes_ -= job.body_bytes;
    turn_.emit_counted(JobMoved{job.id, job.state, std::nullopt, promised});
    at_end();
    erase(job);
  }

  // ---- The delayed jobs of a tube, split for a kick: DelayedJobs has the reasons.
  void split_delayed(Tube& tube) { tube.delayed.value_.split(); }
  void join_one_delayed(Tube& tube) { tube.delayed.value_.join_one(); }
  void end_split_delayed(Tube& tube) { tube.delayed.value_.end_split(); }

  // ---- Expiry. The jobs that expire and are ready or delayed.
  // The one that expires first. Null: none has expired by now.
  Job* first_expired();
  // A job that has expired may still be there until its Tick, if very many expire at once.
  bool has_expired(const Job& job) const;
  std::optional<Nanos> soonest_expiry() const;

  // ---- Start: all tubes are there.
  // REQUIRES: there is no job of this id, and the tube of the row is there.
  void restore(const JobRow& row, Nanos now);
  // No more jobs are restored.
  void finish_restore(JobId next_id);

  // ---- What is known of them.
  // The order of a job that is buried next. Lower ones are those of jobs that were buried before.
  uint64_t next_bury_order() const { return next_bury_order_; }
  JobRow row_of(const Job& job) const;
  // Whether the job is ready and its concurrency key is full.
  bool is_parked(const Job& job) const;
  // Since when the job of the tube is ready that has been ready longest. None: none is ready.
  std::optional<Nanos> oldest_ready(const Tube& tube) const {
    return tube.ready_order->first(pool_);
  }
  const StateCounts& counts() const { return counts_; }
  uint64_t parked() const { return parked_; }
  uint64_t body_bytes() const { return body_bytes_; }
  uint64_t total() const { return total_; }    // Loaded and put.
  uint64_t loaded() const { return loaded_; }  // By the start.
  // An estimate, in bytes; without the fields.
  size_t memory_bytes() const;

 private:
  friend struct Check;

  // Returns since when the job was in its state, if it was ready or reserved.
  Nanos leave(Job& job);
  void enter(Job& job, Nanos since);
  // Adds the job, which is ready or reserved, to the groups of its tube, or removes it.
  void enter_group(Tube& tube, Job& job, const ConcurrencyKey& key);
  void leave_group(Tube& tube, Job& job, const ConcurrencyKey& key);
  void count(const Job& job, Tube& tube, int64_t by);
  void erase(Job& job);
  // Takes an id, and has a further block of ids stored if it is the first of that.
  JobId take_stored_id();
  // The job is one of the tube's, and counted as put.
  void insert(Tube& tube, Job& job);
  // A buried job has this place: the next ones come behind it.
  void pass_bury_order(uint64_t order) { next_bury_order_ = std::max(next_bury_order_, order + 1); }
  // Whether the job counts as ready since its put, unless its row says otherwise.
  bool is_ready_since_put(const Job& job) const;
  Nanos since_restored(const Job& job, Nanos now) const;

  const Limits& limits_;
  Turn& turn_;
  FieldTable& fields_;
  TubeTable& tubes_;
  ConnTable& conns_;

  JobPool pool_;
  IdMap<Job*> jobs_;
  // The jobs that expire and are ready or delayed.
  absl::btree_set<std::pair<Nanos, JobId>> expiries_;
  JobId next_id_ = 1;
  JobId id_limit_ = 1;
  uint64_t next_bury_order_ = 1;
  bool is_restoring_ = false;  // Jobs are restored, and finish_restore() is to come.

  StateCounts counts_;
  uint64_t parked_ = 0;
  uint64_t total_ = 0;
  uint64_t loaded_ = 0;
  uint64_t body_bytes_ = 0;  // Of all jobs.
  size_t ready_apart_ = 0;   // The ready jobs that are apart: ready_order.h.
};

}  // namespace perennial::engine
