#include "engine/containers/concurrency.h"

#include "engine/types/check.h"

namespace perennial::engine {
namespace {

bool is_before(const Job& one, const Job& other) {
  return one.priority != other.priority ? one.priority < other.priority : one.id < other.id;
}

}  // namespace

void ConcurrencyGroups::add_ready(const ConcurrencyKey& key, Job& job, JobsMax jobs_max) {
  Group& group = groups_[key.key];
  ++group.ready_by_max[key.jobs_max];
  if (group.reserved >= key.jobs_max) ++parked_;
  push_behind(group, job);
  choose(key.key, group, jobs_max);
}

void ConcurrencyGroups::remove_ready(const ConcurrencyKey& key, Job& job, JobsMax jobs_max) {
  Group& group = groups_.at(key.key);
  const auto count = group.ready_by_max.find(key.jobs_max);
  if (--count->second == 0) group.ready_by_max.erase(count);
  if (group.reserved >= key.jobs_max) --parked_;
  if (group.next == &job) {
    ready_.remove(job);
    group.next = nullptr;
  } else {
    remove_behind(group, job);
  }
  choose(key.key, group, jobs_max);
}

void ConcurrencyGroups::add_reserved(const ConcurrencyKey& key, JobsMax jobs_max) {
  Group& group = groups_[key.key];
  ++group.reserved;
  parked_ += ready_with(group, group.reserved);
  choose(key.key, group, jobs_max);
}

void ConcurrencyGroups::remove_reserved(const ConcurrencyKey& key, JobsMax jobs_max) {
  Group& group = groups_.at(key.key);
  CHECK(group.reserved > 0);
  parked_ -= ready_with(group, group.reserved);
  --group.reserved;
  choose(key.key, group, jobs_max);
}

bool ConcurrencyGroups::is_full(const ConcurrencyKey& key) const {
  const auto group = groups_.find(key.key);
  return group != groups_.end() && group->second.reserved >= key.jobs_max;
}

bool ConcurrencyGroups::is_behind(const ConcurrencyKey& key, const Job& job) const {
  const auto group = groups_.find(key.key);
  return group != groups_.end() && group->second.behind.holds(job);
}

uint64_t ConcurrencyGroups::ready_with(const Group& group, uint64_t jobs_max) {
  if (jobs_max > UINT32_MAX) return 0;
  const auto count = group.ready_by_max.find(static_cast<uint32_t>(jobs_max));
  return count == group.ready_by_max.end() ? 0 : count->second;
}

void ConcurrencyGroups::push_behind(Group& group, Job& job) {
  group.behind.push(job.priority, job.id, job);
  ++behind_;
}

void ConcurrencyGroups::remove_behind(Group& group, Job& job) {
  group.behind.remove(job);
  --behind_;
}

void ConcurrencyGroups::order(Group& group) {
  const bool is_there = group.first_index != not_in_heap;
  if (group.behind.empty()) {
    if (is_there) by_first_.remove(group);
    return;
  }
  const JobHeap::Entry& first = group.behind.top();
  if (is_there) return by_first_.update(first.key, first.tie, group);
  by_first_.push(first.key, first.tie, group);
}

void ConcurrencyGroups::choose(const std::string& key, Group& group, JobsMax jobs_max) {
  Job* best = group.next;
  if (!group.behind.empty()) {
    Job* const first = first_of(group);
    if (best == nullptr || is_before(*first, *best)) best = first;
  }
  if (best != nullptr && group.reserved >= jobs_max(*best)) best = nullptr;
  if (best != group.next) {
    if (group.next != nullptr) {
      ready_.remove(*group.next);
      push_behind(group, *group.next);
    }
    group.next = best;
    if (best != nullptr) {
      remove_behind(group, *best);
      ready_.push(best->priority, best->id, *best);
    }
  }
  order(group);
  if (group.reserved == 0 && group.ready_by_max.empty()) groups_.erase(key);
}

void ConcurrencyGroups::check(const absl::btree_map<std::string, uint64_t>& reserved,
                              JobsMax jobs_max) const {
  size_t behind = 0;
  size_t ordered = 0;
  uint64_t parked = 0;
  for (const auto& entry : groups_) {
    const Group& group = entry.second;  // A lambda cannot capture a structured binding.
    const auto held = reserved.find(entry.first);
    CHECK(group.reserved == (held == reserved.end() ? 0 : held->second));
    CHECK(group.reserved > 0 || group.next != nullptr);
    group.behind.check();
    absl::btree_map<uint32_t, uint64_t> ready_by_max;
    const auto count = [&](const Job& job) {
      ++ready_by_max[jobs_max(job)];
      parked += group.reserved >= jobs_max(job) ? 1 : 0;
    };
    group.behind.for_each(count);
    if (group.next != nullptr) {
      count(*group.next);
      CHECK(ready_.holds(*group.next));
      CHECK(group.reserved < jobs_max(*group.next));
      CHECK(group.behind.empty() || is_before(*group.next, *first_of(group)));
    } else if (!group.behind.empty()) {
      CHECK(group.reserved >= jobs_max(*first_of(group)));
    }
    CHECK(ready_by_max == group.ready_by_max);
    CHECK(group.behind.empty() == (group.first_index == not_in_heap));
    behind += group.behind.size();
    ordered += group.behind.empty() ? 0 : 1;
  }
  for (const auto& [key, count] : reserved) CHECK(groups_.contains(key));
  CHECK(behind == behind_);
  CHECK(parked == parked_);
  CHECK(ordered == by_first_.size());
  by_first_.check();
}

}  // namespace perennial::engine
