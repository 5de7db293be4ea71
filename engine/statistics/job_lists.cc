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

// The order of a list: by the ids of the jobs, up or down.
enum class ListOrder : uint8_t { Up, Down };

// The job behind this id. Null: it is the last.
const Job* next_of(const State& state, JobId id, ListOrder order) {
  if (order == ListOrder::Down) return id > 1 ? state.jobs.last_to(id - 1) : nullptr;
  return id < UINT64_MAX ? state.jobs.first_from(id + 1) : nullptr;
}
const Job* first_of(const State& state, JobId after, ListOrder order) {
  if (order == ListOrder::Down && after == 0) return state.jobs.last_to(UINT64_MAX);
  return next_of(state, after, order);
}

// The jobs of a tube that has few of them, wherever they are among all jobs. The cursor is as after
// a walk over all of them.
uint32_t list_few(const State& state, const Tube& tube, const ListJobs& list, ListOrder order,
                  JobList& found) {
  const bool is_down = order == ListOrder::Down;
  std::vector<const Job*> jobs;
  for_each_in(state, tube, list.states.states, [&](const Job& job) {
    if (is_down ? list.after == 0 || job.id < list.after : job.id > list.after) {
      jobs.push_back(&job);
    }
  });
  std::ranges::sort(jobs, [&](const Job* one, const Job* other) {
    return is_down ? one->id > other->id : one->id < other->id;
  });
  const bool is_whole = jobs.size() < list.count.value;
  if (!is_whole) jobs.resize(list.count.value);
  for (const Job* const job : jobs) found.jobs.push_back(stats_of(state, *job));
  const bool is_last = is_whole || next_of(state, jobs.back()->id, order) == nullptr;
  found.cursor = is_last ? 0 : jobs.back()->id;
  return static_cast<uint32_t>(tube.count_in(list.states.states));
}

std::optional<uint32_t> list_along(const State& state, const ListJobs& list, ListOrder order,
                                   uint32_t scan_max, JobList& found) {
  const Tube* const tube = list.tube.empty() ? nullptr : state.tubes.find(list.tube);
  if (tube == nullptr && !list.tube.empty()) return std::nullopt;
  if (!list.key.empty()) {
    const Job* const holder = holder_of(state, list.tube, list.key);
    const bool is_asked_for =
        holder != nullptr && holder->id > list.after && list.states.states.holds(holder->state);
    if (is_asked_for) found.jobs.push_back(stats_of(state, *holder));
    return 0;
  }
  if (tube != nullptr && tube->count_in(list.states.states) <= few_jobs_max) {
    return list_few(state, *tube, list, order, found);
  }
  uint32_t looked_at = 0;
  const Job* job = first_of(state, list.after, order);
  while (job != nullptr && looked_at < scan_max && found.jobs.size() < list.count.value) {
    ++looked_at;
    found.cursor = job->id;
    const bool is_asked_for =
        (tube == nullptr || job->tube == tube->id) && list.states.states.holds(job->state);
    if (is_asked_for) found.jobs.push_back(stats_of(state, *job));
    job = next_of(state, job->id, order);
  }
  if (job == nullptr) found.cursor = 0;
  return looked_at;
}

}  // namespace

std::optional<uint32_t> EngineView::list_jobs(const ListJobs& list, uint32_t scan_max,
                                              JobList& found) const {
  return list_along(*state_, list, ListOrder::Up, scan_max, found);
}

std::optional<uint32_t> EngineView::list_newest_jobs(const ListJobs& list, uint32_t scan_max,
                                                     JobList& found) const {
  return list_along(*state_, list, ListOrder::Down, scan_max, found);
}

size_t EngineView::failed_places(TubeId number) const {
  if (!state_->tubes.has_number(number)) return 0;
  const Tube& tube = state_->tubes.of(number);
  return tube.buried->size() + (holds_dead(*state_, tube) ? tube.ready->size() : 0);
}

void EngineView::failed_jobs(TubeId number, size_t first, size_t end,
                             std::vector<FailedJob>& found) const {
  if (!state_->tubes.has_number(number)) return;
  const Tube& tube = state_->tubes.of(number);
  const size_t buried = tube.buried->size();
  for (size_t place = first; place < std::min(end, buried + tube.ready->size()); ++place) {
    const bool is_buried = place < buried;
    const Job& job = is_buried ? tube.buried->at(place) : tube.ready->at(place - buried);
    if (is_buried || has_died(*state_, job)) {
      found.push_back({.id = job.id, .is_dead = !is_buried, .order = job.order});
    }
  }
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
