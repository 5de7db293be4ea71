#pragma once

#include <cstddef>
#include <utility>

#include "engine/job.h"

namespace perennial::engine {

// The delayed jobs of a tube, the one that is due first on top: by deadline, then id. Owns none.
//
// A kick that takes several turns must not meet a job that is delayed after it began, wherever its
// deadline lies: a worker that takes a kicked job and releases it with a delay means that delay. So
// a split keeps what comes after it in a heap of its own. After its end the two are joined job by
// job, since all at once could take the loop too long; until they are, there is no other split.
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

  // REQUIRES: its order is its deadline; it is in no heap.
  void push(Job& job) { (is_split_ ? later_ : jobs_).push(job.order, job.id, job); }
  // REQUIRES: holds(job).
  void remove(Job& job) { (jobs_.holds(job) ? jobs_ : later_).remove(job); }

  // ---- A split.
  bool is_split() const { return is_split_; }
  bool may_split() const { return !is_split_ && is_joined(); }
  // REQUIRES: may_split().
  void split() {
    CHECK(may_split());
    is_split_ = true;
  }
  // The first of those that were there when it was split. REQUIRES: is_split().
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
  JobHeap later_;  // While split, what was delayed since; then, what is not joined yet.
  bool is_split_ = false;
};

}  // namespace perennial::engine
