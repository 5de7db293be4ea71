#pragma once

#include <cstddef>
#include <utility>

#include "engine/containers/job.h"

namespace perennial::engine {

// The delayed jobs of a tube, ordered by deadline and then by id. The object does not own the jobs.
//
// A kick that takes several turns must not meet a job that was delayed after the kick began,
// whatever the job's deadline: a worker that reserves a kicked job and releases it with a delay
// expects that delay. A split therefore keeps the jobs that are pushed after it in a heap of their
// own. When the split has ended, the two heaps are joined one job at a time, because joining
// millions of jobs at once would block the event loop. There is no other split until the heaps are
// joined.
class DelayedJobs {
 public:
  size_t size() const { return jobs_.size() + later_.size(); }
  bool empty() const { return size() == 0; }
  // REQUIRES: !empty().
  const JobHeap::Entry& top() const {
    if (later_.empty()) return jobs_.top();
    if (jobs_.empty()) return later_.top();
    return later_.top().before(jobs_.top()) ? later_.top() : jobs_.top();
  }
  bool holds(const Job& job) const { return jobs_.holds(job) || later_.holds(job); }

  // REQUIRES: job.order is the deadline, and the job is in no heap.
  void push(Job& job) { (is_split_ ? later_ : jobs_).push(job.order, job.id, job); }
  // REQUIRES: holds(job).
  void remove(Job& job) { (jobs_.holds(job) ? jobs_ : later_).remove(job); }

  // ---- Split of the jobs into those before and after the start of a kick.
  bool is_split() const { return is_split_; }
  bool may_split() const { return !is_split_ && is_joined(); }
  // REQUIRES: may_split().
  void split() {
    CHECK(may_split());
    is_split_ = true;
  }
  // Returns the first of the jobs that were delayed before the split, or null. REQUIRES:
  // is_split().
  Job* first_of_before() const { return jobs_.empty() ? nullptr : jobs_.top().item; }
  void end_split() {
    is_split_ = false;
    if (later_.size() > jobs_.size()) std::swap(jobs_, later_);
  }
  bool is_joined() const { return later_.empty(); }
  // REQUIRES: !is_split(), !is_joined().
  void join_one() {
    Job& job = *later_.last().item;
    later_.remove(job);
    jobs_.push(job.order, job.id, job);
  }

  template <typename Visit>
  void for_each(Visit visit) const {
    jobs_.for_each(visit);
    later_.for_each(visit);
  }
  // For Engine::check().
  void check() const {
    jobs_.check();
    later_.check();
  }

 private:
  JobHeap jobs_;
  // The jobs that were pushed since the split, and after its end those that are not joined yet.
  JobHeap later_;
  bool is_split_ = false;
};

}  // namespace perennial::engine
