#include "engine/view/engine_view.h"

#include <algorithm>
#include <utility>

#include "engine/state.h"

namespace perennial::engine {
namespace {

// A tube with no more jobs in the states is not searched for among all jobs.
constexpr size_t few_jobs_max = 1'000;

size_t count_in(const Tube& tube, StateSet states) {
  return (states.holds(JobState::Ready) ? tube.ready_count() : 0) +
         (states.holds(JobState::Reserved) ? tube.reserved.size() : 0) +
         (states.holds(JobState::Delayed) ? tube.delayed.size() : 0) +
         (states.holds(JobState::Buried) ? tube.buried.size() : 0);
}

}  // namespace

JobId EngineView::next_id() const {
  return state_->next_id_;
}

size_t EngineView::job_count() const {
  return state_->jobs_.size();
}

StateCounts EngineView::state_counts() const {
  return state_->counts_;
}

uint64_t EngineView::jobs_damaged() const {
  return state_->jobs_damaged_;
}

bool EngineView::is_draining() const {
  return state_->draining_;
}

NamesSize EngineView::tubes_size() const {
  return {state_->tube_list_.size(), state_->name_bytes_};
}

const PutRefusals& EngineView::puts_refused() const {
  return state_->puts_refused_;
}

const WorkTimes& EngineView::work_times() const {
  return state_->work_times_;
}

const TimesByName& EngineView::measured_tubes() const {
  return state_->measured_tubes_.records();
}

TubeId EngineView::tube_numbers() const {
  return static_cast<TubeId>(state_->tubes_.size());
}

const std::string& EngineView::used_tube(ConnId conn) const {
  return state_->tube_of(state_->conn_of(conn).used).name;
}

bool EngineView::watches(ConnId conn, std::string_view tube) const {
  const Tube* const found = state_->tubes_by_name_.find(tube);
  return found != nullptr && state_->conn_of(conn).watched.contains(*found);
}

std::vector<const std::string*> EngineView::watched_tubes(ConnId conn) const {
  std::vector<const std::string*> names;
  for (const WatchLink& link : state_->conn_of(conn).watched.links()) {
    names.push_back(&state_->tube_of(link.tube).name);
  }
  return names;
}

bool EngineView::holds(ConnId conn, JobId id) const {
  const Job* const* const job = state_->jobs_.find(id);
  return job != nullptr && (*job)->state == JobState::Reserved && (*job)->place.holder == conn;
}

std::vector<const std::string*> EngineView::held_tubes(ConnId conn) const {
  std::vector<const std::string*> names;
  state_->conn_of(conn).reserved.for_each(
      [&](const Job& job) { names.push_back(&state_->tube_of(job.tube).name); });
  return names;
}

bool EngineView::is_waiting(ConnId conn) const {
  return state_->conn_of(conn).waiting;
}

const std::string* EngineView::tube_of_job(JobId id) const {
  const Job* const* const job = state_->jobs_.find(id);
  return job != nullptr ? &state_->tube_of((*job)->tube).name : nullptr;
}

EngineStats EngineView::statistics() const {
  return {.jobs = state_->counts_,
          .commands = state_->commands_,
          .job_timeouts = state_->job_timeouts_,
          .total_jobs = state_->total_jobs_,
          .puts = state_->total_jobs_ - state_->loaded_jobs_,
          .tubes = state_->tube_list_.size(),
          .connections = state_->connections_,
          .producers = state_->producers_,
          .workers = state_->workers_,
          .waiting = state_->waiting_,
          .total_connections = state_->total_connections_,
          .jobs_damaged = state_->jobs_damaged_,
          .draining = state_->draining_,
          .jobs_parked = state_->jobs_parked_,
          .keys = state_->keys_.size(),
          .jobs_duplicate = state_->jobs_duplicate_,
          .jobs_dead = state_->jobs_dead_,
          .jobs_expired = state_->jobs_expired_,
          .job_ends = state_->job_ends_,
          .puts_refused = state_->puts_refused_,
          .body_bytes = state_->body_bytes_};
}

std::optional<TubeStats> EngineView::tube_statistics(TubeId number) const {
  if (number >= state_->tubes_.size() || state_->tubes_[number] == nullptr) return std::nullopt;
  return state_->stats_of(*state_->tubes_[number]);
}

std::optional<TubeStats> EngineView::tube_statistics(std::string_view name) const {
  const Tube* const tube = state_->find_tube(name);
  if (tube == nullptr) return std::nullopt;
  return state_->stats_of(*tube);
}

std::optional<JobStats> EngineView::job_statistics(JobId id) const {
  const Job* const* const job = state_->jobs_.find(id);
  if (job == nullptr) return std::nullopt;
  return state_->stats_of(**job);
}

template <typename Visit>
void State::for_each_in(const Tube& tube, StateSet states, Visit visit) const {
  if (states.holds(JobState::Ready)) {
    tube.ready.for_each(visit);
    if (tube.groups) tube.groups->for_each_behind(visit);
  }
  if (states.holds(JobState::Reserved)) {
    for (const auto& [id, since] : tube.reserved) visit(**jobs_.find(id));
  }
  if (states.holds(JobState::Delayed)) tube.delayed.for_each(visit);
  if (states.holds(JobState::Buried)) tube.buried.for_each(visit);
}

// The job that holds the key now. Null also while the key is in its cooldown.
const Job* State::holder_of(std::string_view tube, std::string_view key) const {
  const KeyTable::Entry* const entry = taken_key(tube, key);
  const Job* const* const job = entry != nullptr ? jobs_.find(entry->job) : nullptr;
  if (job == nullptr) return nullptr;
  const JobFields* const fields = fields_of(**job);
  return fields != nullptr && fields->key && !fields->key->given_up ? *job : nullptr;
}

// The jobs of a tube that has few of them, wherever they are among all jobs. The cursor is as after
// a walk over all of them.
uint32_t State::list_few(const Tube& tube, const ListJobs& list, JobList& found) const {
  std::vector<const Job*> jobs;
  for_each_in(tube, list.states, [&](const Job& job) {
    if (job.id > list.after) jobs.push_back(&job);
  });
  std::ranges::sort(jobs, {}, [](const Job* job) { return job->id; });
  const bool is_whole = jobs.size() < list.count.value;
  if (!is_whole) jobs.resize(list.count.value);
  for (const Job* const job : jobs) found.jobs.push_back(stats_of(*job));
  const bool is_last = is_whole || jobs_.first_from(jobs.back()->id + 1).value == nullptr;
  found.cursor = is_last ? 0 : jobs.back()->id;
  return static_cast<uint32_t>(count_in(tube, list.states));
}

std::optional<uint32_t> EngineView::list_jobs(const ListJobs& list, uint32_t scan_max,
                                              JobList& found) const {
  const Tube* const tube = list.tube.empty() ? nullptr : state_->find_tube(list.tube);
  if (tube == nullptr && !list.tube.empty()) return std::nullopt;
  if (!list.key.empty()) {
    const Job* const holder = state_->holder_of(list.tube, list.key);
    const bool is_asked_for =
        holder != nullptr && holder->id > list.after && list.states.holds(holder->state);
    if (is_asked_for) found.jobs.push_back(state_->stats_of(*holder));
    return 0;
  }
  if (tube != nullptr && count_in(*tube, list.states) <= few_jobs_max) {
    return state_->list_few(*tube, list, found);
  }
  uint32_t looked_at = 0;
  auto entry = IdMap<Job*>::ConstEntry();
  if (list.after < UINT64_MAX) entry = state_->jobs_.first_from(list.after + 1);
  while (entry.value != nullptr && looked_at < scan_max && found.jobs.size() < list.count.value) {
    const Job& job = **entry.value;
    ++looked_at;
    found.cursor = job.id;
    const bool is_asked_for =
        (tube == nullptr || job.tube == tube->id) && list.states.holds(job.state);
    if (is_asked_for) found.jobs.push_back(state_->stats_of(job));
    entry = state_->jobs_.first_from(job.id + 1);
  }
  if (entry.value == nullptr) found.cursor = 0;
  return looked_at;
}

bool EngineView::count_jobs(const CountJobs& asked, uint32_t scan_max, JobCount& counted) const {
  const Tube* const tube = state_->find_tube(asked.tube);
  if (tube == nullptr) return true;
  if (!asked.match.is_set()) {
    counted.count = count_in(*tube, asked.states);
    return true;
  }
  const auto is_wanted = [&](const Job& job) {
    return State::is_matched(job, asked.match, state_->turn_.now());
  };
  if (counted.cursor == 0 && count_in(*tube, asked.states) <= few_jobs_max) {
    state_->for_each_in(*tube, asked.states,
                        [&](const Job& job) { counted.count += is_wanted(job); });
    return true;
  }
  for (uint32_t looked_at = 0; looked_at < scan_max; ++looked_at) {
    const auto entry = state_->jobs_.first_from(counted.cursor + 1);
    if (entry.value == nullptr) return true;
    const Job& job = **entry.value;
    counted.cursor = job.id;
    counted.count +=
        job.tube == tube->id && asked.states.holds(job.state) && is_wanted(job) ? 1 : 0;
  }
  return false;
}

std::vector<ConnId> EngineView::connections() const {
  std::vector<ConnId> out;
  out.reserve(state_->conns_.size());
  for (const auto& [id, conn] : state_->conns_) {
    if (!conn->is_internal && !conn->closing) out.push_back(id);
  }
  return out;
}

std::optional<uint64_t> EngineView::operation_progress(ConnId conn) const {
  const auto found = state_->conns_.find(conn);
  if (found == state_->conns_.end() || !found->second->operation) return std::nullopt;
  struct Done {
    uint64_t operator()(const Kicking& kick) const { return kick.kicked; }
    uint64_t operator()(const GivingBack& /*closed*/) const { return 0; }
    uint64_t operator()(const Flushing& flush) const { return flush.flushed; }
    uint64_t operator()(const Moving& move) const { return move.moved; }
    uint64_t operator()(const KickingTube& kick) const { return kick.kicked; }
  };
  return std::visit(Done(), *found->second->operation);
}

std::optional<ConnStats> EngineView::connection_statistics(ConnId id) const {
  const auto found = state_->conns_.find(id);
  if (found == state_->conns_.end() || found->second->closing) return std::nullopt;
  const Conn& conn = *found->second;
  ConnStats stats = {.id = id,
                     .used = state_->tube_of(conn.used).name,
                     .held = conn.reserved.size(),
                     .is_producer = conn.producer,
                     .is_worker = conn.worker,
                     .is_waiting = conn.waiting};
  for (const WatchLink& link : conn.watched.links()) {
    if (stats.watched.size() < ConnStats::watched_shown_max) {
      stats.watched.push_back(state_->tube_of(link.tube).name);
    }
    ++stats.watched_count;
  }
  return stats;
}

NamesSize EngineView::watched_size(ConnId conn) const {
  const WatchList& watched = state_->conns_.at(conn)->watched;
  return {watched.size(), watched.name_bytes()};
}

size_t EngineView::listed_bytes(ConnId conn, const Command& command) const {
  constexpr size_t line_bytes = 3;  // "- " and LF around each name.
  if (const auto* const jobs = std::get_if<ListJobs>(&command)) {
    constexpr size_t job_line_bytes = 200;
    return std::min<size_t>(jobs->count.value, state_->jobs_.size()) * job_line_bytes;
  }
  NamesSize size;
  if (std::holds_alternative<ListTubes>(command)) size = tubes_size();
  if (std::holds_alternative<ListTubesWatched>(command)) size = watched_size(conn);
  return size.bytes + size.count * line_bytes;
}

size_t EngineView::memory_bytes() const {
  constexpr size_t heap_entry_bytes = sizeof(JobHeap::Entry);
  constexpr size_t tube_bytes = sizeof(Tube) + 512;
  constexpr size_t conn_bytes = sizeof(Conn) + 512;
  constexpr size_t fields_extra_bytes = 64;  // Of strings, and of the order of expiries.
  constexpr size_t settings_bytes = sizeof(TubeSettings) + 128;
  constexpr size_t reserved_bytes = 2 * (sizeof(JobId) + sizeof(Nanos));  // In the map of its tube.
  constexpr size_t apart_bytes = 2 * (sizeof(JobId) + sizeof(Nanos));     // In a ReadyOrder.
  return state_->pool_.bytes() + state_->jobs_.memory_bytes() +
         state_->jobs_.size() * heap_entry_bytes +
         (state_->tube_list_.size() + state_->ended_tubes_.size()) * tube_bytes +
         state_->conns_.size() * conn_bytes + state_->counts_.reserved * reserved_bytes +
         state_->ready_apart_ * apart_bytes + state_->watched_bytes_ +
         state_->fields_.memory_bytes() +
         state_->fields_.size() * (sizeof(JobFields) + fields_extra_bytes) +
         state_->keys_.memory_bytes() + state_->settings_.size() * settings_bytes +
         state_->buckets_.memory_bytes();
}

}  // namespace perennial::engine
