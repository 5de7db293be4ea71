#include "cmd/perenniald/core/body_waits.h"

#include <utility>

#include "engine/types/check.h"

namespace perennial::core {

bool BodyWaits::add(const BodyWaiter& waiter) {
  const JobId job = waiter.reply.id;
  const auto [place, is_first] =
      bodies_.try_emplace(job, Wanted{.body_bytes = waiter.reply.body_bytes});
  place->second.waiters.push_back(waiter);
  if (!is_first) return false;
  if (is_large(waiter.reply.body_bytes)) return true;
  small_.push_back(job);
  return false;
}

bool BodyWaits::is_waiting(JobId job) const {
  const auto found = bodies_.find(job);
  return found != bodies_.end() && !found->second.has_begun;
}

void BodyWaits::begin(JobId job) {
  const auto found = bodies_.find(job);
  CHECK(found != bodies_.end());
  Wanted& wanted = found->second;
  CHECK(!wanted.has_begun);
  wanted.has_begun = true;
  const size_t bytes = wanted.body_bytes;
  wanted.charge = MemoryBudget::Charge(
      budget_, {.memory = bytes, .answers = bytes, .large = is_large(bytes) ? bytes : 0});
  ++under_way_;
  begun_.push_back({job, bytes});
}

std::vector<BodyRead> BodyWaits::take_reads() {
  while (!small_.empty() && under_way_ < reads_max_) {
    const JobId job = small_.front();
    small_.pop_front();
    if (is_waiting(job)) begin(job);
  }
  return std::exchange(begun_, {});
}

std::vector<BodyWaiter> BodyWaits::end(JobId job) {
  const auto found = bodies_.find(job);
  CHECK(found != bodies_.end());
  if (found->second.has_begun) --under_way_;
  std::vector<BodyWaiter> waiters = std::move(found->second.waiters);
  bodies_.erase(found);
  return waiters;
}

const std::vector<BodyWaiter>& BodyWaits::waiters(JobId job) const {
  const auto found = bodies_.find(job);
  CHECK(found != bodies_.end());
  return found->second.waiters;
}

bool BodyWaits::drop(JobId job, ConnId conn) {
  const auto found = bodies_.find(job);
  if (found == bodies_.end() || found->second.has_begun) return false;
  std::erase_if(found->second.waiters,
                [conn](const BodyWaiter& waiter) { return waiter.conn == conn; });
  if (!found->second.waiters.empty()) return false;
  bodies_.erase(found);
  return true;
}

MemoryUse BodyWaits::use() const {
  MemoryUse all;
  for (const auto& entry : bodies_) all += entry.second.charge.use();
  return all;
}

}  // namespace perennial::core
