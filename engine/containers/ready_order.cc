#include "engine/containers/ready_order.h"

#include <algorithm>
#include <vector>

#include "engine/types/check.h"

namespace perennial::engine {

bool ReadyOrder::add(const JobPool& pool, Job& job) {
  if (last_ != none && job.order < pool.at(last_).order) {
    job.place.ready = {.older = is_apart, .newer = is_apart};
    apart_.emplace(job.order, job.id);
    return true;
  }
  link_last(pool, job);
  return false;
}

bool ReadyOrder::remove(const JobPool& pool, const Job& job) {
  const ReadyNeighbours near = job.place.ready;
  if (near.older == is_apart) {
    CHECK(apart_.erase({job.order, job.id}) == 1);
    return true;
  }
  (near.older == none ? first_ : pool.at(near.older).place.ready.newer) = near.newer;
  (near.newer == none ? last_ : pool.at(near.newer).place.ready.older) = near.older;
  return false;
}

std::optional<Nanos> ReadyOrder::first(const JobPool& pool) const {
  if (first_ == none && apart_.empty()) return std::nullopt;
  uint64_t since = UINT64_MAX;
  if (first_ != none) since = pool.at(first_).order;
  if (!apart_.empty()) since = std::min(since, apart_.begin()->first);
  return static_cast<Nanos>(since);
}

void ReadyOrder::append(const JobPool& pool, Job& job) {
  if (last_ != none && job.order < pool.at(last_).order) is_sorted_ = false;
  link_last(pool, job);
}

void ReadyOrder::sort(const JobPool& pool) {
  if (is_sorted_) return;
  std::vector<std::pair<uint64_t, uint32_t>> jobs;
  for (uint32_t at = first_; at != none; at = pool.at(at).place.ready.newer) {
    jobs.emplace_back(pool.at(at).order, at);
  }
  std::ranges::sort(jobs);
  first_ = last_ = none;
  for (const auto& [since, at] : jobs) link_last(pool, pool.at(at));
  is_sorted_ = true;
}

size_t ReadyOrder::check(const JobPool& pool) const {
  CHECK(is_sorted_);
  size_t count = 0;
  uint32_t before = none;
  uint64_t since = 0;
  for (uint32_t at = first_; at != none; at = pool.at(at).place.ready.newer) {
    const Job& job = pool.at(at);
    CHECK(job.state == JobState::Ready);
    CHECK(job.place.ready.older == before);
    CHECK(job.order >= since);
    before = at;
    since = job.order;
    ++count;
  }
  CHECK(before == last_);
  return count + apart_.size();
}

void ReadyOrder::link_last(const JobPool& pool, Job& job) {
  const uint32_t number = JobPool::number_of(job);
  (last_ == none ? first_ : pool.at(last_).place.ready.newer) = number;
  job.place.ready = {.older = last_, .newer = none};
  last_ = number;
}

}  // namespace perennial::engine
