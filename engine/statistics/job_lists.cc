// Which jobs of a tube there are: list-jobs, and the counts of HTTP.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/statistics/stats.h"
#include "engine/tables/state.h"
#include "engine/view/engine_view.h"

namespace perennial::engine {
namespace {

// A tube with no more jobs in the states is not searched for among all jobs.
constexpr size_t few_jobs_max = 1'000;

template <typename Visit>
void for_each_in(const State& state, const Tube& tube, StateSet states, Visit visit) {
  if (states.holds(JobState::Ready)) {
    tube.ready->for_each(visit);
    if (tube.groups) tube.groups->for_each_behind(visit);
  }
  if (states.holds(JobState::Reserved)) {
    for (const auto& [id, since] : *tube.reserved) visit(*state.jobs.find(id));
  }
  if (states.holds(JobState::Delayed)) tube.delayed->for_each(visit);
  if (states.holds(JobState::Buried)) tube.buried->for_each(visit);
}

// The job that holds the key now. Null also while the key is in its cooldown.
const Job* holder_of(const State& state, std::string_view tube, std::string_view key) {
  const KeyTable::Entry* const entry = state.keys.find_taken(tube, key, state.turn.now());
  const Job* const job = entry != nullptr ? state.jobs.find(entry->job) : nullptr;
  if (job == nullptr) return nullptr;
  const JobFields* const fields = state.fields.of(*job);
  return fields != nullptr && fields->key && !fields->key->given_up ? job : nullptr;
}

// The jobs of a tube that has few of them, wherever they are among all jobs. The cursor is as after
// a walk over all of them.
uint32_t list_few(const State& state, const Tube& tube, const ListJobs& list, JobList& found) {
  std::vector<const Job*> jobs;
  for_each_in(state, tube, list.states.states, [&](const Job& job) {
    if (job.id > list.after) jobs.push_back(&job);
  });
  std::ranges::sort(jobs, {}, [](const Job* job) { return job->id; });
  const bool is_whole = jobs.size() < list.count.value;
  if (!is_whole) jobs.resize(list.count.value);
  for (const Job* const job : jobs) found.jobs.push_back(stats_of(state, *job));
  const bool is_last = is_whole || state.jobs.first_from(jobs.back()->id + 1) == nullptr;
  found.cursor = is_last ? 0 : jobs.back()->id;
  return static_cast<uint32_t>(tube.count_in(list.states.states));
}

}  // namespace

std::optional<uint32_t> EngineView::list_jobs(const ListJobs& list, uint32_t scan_max,
                                              JobList& found) const {
  const Tube* const tube = list.tube.empty() ? nullptr : state_->tubes.find(list.tube);
  if (tube == nullptr && !list.tube.empty()) return std::nullopt;
  if (!list.key.empty()) {
    const Job* const holder = holder_of(*state_, list.tube, list.key);
    const bool is_asked_for =
        holder != nullptr && holder->id > list.after && list.states.states.holds(holder->state);
    if (is_asked_for) found.jobs.push_back(stats_of(*state_, *holder));
    return 0;
  }
  if (tube != nullptr && tube->count_in(list.states.states) <= few_jobs_max) {
    return list_few(*state_, *tube, list, found);
  }
  uint32_t looked_at = 0;
  const Job* job = list.after < UINT64_MAX ? state_->jobs.first_from(list.after + 1) : nullptr;
  while (job != nullptr && looked_at < scan_max && found.jobs.size() < list.count.value) {
    ++looked_at;
    found.cursor = job->id;
    const bool is_asked_for =
        (tube == nullptr || job->tube == tube->id) && list.states.states.holds(job->state);
    if (is_asked_for) found.jobs.push_back(stats_of(*state_, *job));
    job = state_->jobs.first_from(job->id + 1);
  }
  if (job == nullptr) found.cursor = 0;
  return looked_at;
}

bool EngineView::count_jobs(const CountJobs& asked, uint32_t scan_max, JobCount& counted) const {
  const Tube* const tube = state_->tubes.find(asked.tube);
  if (tube == nullptr) return true;
  if (!asked.match.is_set()) {
    counted.count = tube->count_in(asked.states);
    return true;
  }
  const auto is_wanted = [&](const Job& job) {
    return is_matched(job, asked.match, state_->turn.now());
  };
  if (counted.cursor == 0 && tube->count_in(asked.states) <= few_jobs_max) {
    for_each_in(*state_, *tube, asked.states,
                [&](const Job& job) { counted.count += is_wanted(job); });
    return true;
  }
  for (uint32_t looked_at = 0; looked_at < scan_max; ++looked_at) {
    const Job* const job = state_->jobs.first_from(counted.cursor + 1);
    if (job == nullptr) return true;
    counted.cursor = job->id;
    counted.count +=
        job->tube == tube->id && asked.states.holds(job->state) && is_wanted(*job) ? 1 : 0;
  }
  return false;
}

}  // namespace perennial::engine
