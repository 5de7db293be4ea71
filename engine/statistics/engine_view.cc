#include "engine/view/engine_view.h"

#include <algorithm>
#include <vector>

#include "engine/statistics/stats.h"
#include "engine/tables/state.h"

namespace perennial::engine {

JobId EngineView::next_id() const {
  return state_->jobs.next_id();
}

size_t EngineView::job_count() const {
  return state_->jobs.size();
}

StateCounts EngineView::state_counts() const {
  return state_->jobs.counts();
}

uint64_t EngineView::jobs_damaged() const {
  return state_->counters.jobs_damaged;
}

bool EngineView::is_draining() const {
  return state_->is_draining;
}

NamesSize EngineView::tubes_size() const {
  return state_->tubes.names_size();
}

const PutRefusals& EngineView::puts_refused() const {
  return state_->counters.puts_refused;
}

const WorkTimes& EngineView::work_times() const {
  return state_->counters.work_times;
}

const TimesByName& EngineView::measured_tubes() const {
  return state_->tubes.measured();
}

TubeId EngineView::tube_numbers() const {
  return state_->tubes.numbers();
}

const std::string& EngineView::used_tube(ConnId conn) const {
  return state_->tubes.of(state_->conns.of(conn).used).name;
}

bool EngineView::watches(ConnId conn, std::string_view tube) const {
  const Tube* const found = state_->tubes.find(tube);
  return found != nullptr && state_->conns.of(conn).watched.contains(*found);
}

std::vector<const std::string*> EngineView::watched_tubes(ConnId conn) const {
  std::vector<const std::string*> names;
  for (const WatchLink& link : state_->conns.of(conn).watched.links()) {
    names.push_back(&state_->tubes.of(link.tube).name);
  }
  return names;
}

bool EngineView::holds(ConnId conn, JobId id) const {
  const Job* const job = state_->jobs.find(id);
  return job != nullptr && job->state == JobState::Reserved && job->place.holder == conn;
}

size_t EngineView::held(ConnId id) const {
  const Conn* const conn = state_->conns.find(id);
  return conn != nullptr ? conn->reserved->size() : 0;
}

std::vector<const std::string*> EngineView::held_tubes(ConnId conn) const {
  std::vector<const std::string*> names;
  state_->conns.of(conn).reserved->for_each(
      [&](const Job& job) { names.push_back(&state_->tube_of(job).name); });
  return names;
}

bool EngineView::is_waiting(ConnId conn) const {
  return state_->conns.of(conn).waiting;
}

const std::string* EngineView::tube_of_job(JobId id) const {
  const Job* const job = state_->jobs.find(id);
  return job != nullptr ? &state_->tube_of(*job).name : nullptr;
}

std::optional<JobState> EngineView::state_of_job(JobId id) const {
  const Job* const job = state_->jobs.find(id);
  return job != nullptr ? std::optional(job->state) : std::nullopt;
}

EngineStats EngineView::statistics() const {
  const ConnTable::Counts& conns = state_->conns.counts();
  const Counters& counters = state_->counters;
  return {.jobs = state_->jobs.counts(),
          .commands = counters.commands,
          .job_timeouts = counters.job_timeouts,
          .total_jobs = state_->jobs.total(),
          .puts = state_->jobs.total() - state_->jobs.loaded(),
          .tubes = state_->tubes.list().size(),
          .connections = conns.open,
          .producers = conns.producers,
          .workers = conns.workers,
          .waiting = conns.waiting,
          .total_connections = conns.total,
          .jobs_damaged = counters.jobs_damaged,
          .draining = state_->is_draining,
          .jobs_parked = state_->jobs.parked(),
          .keys = state_->keys.size(),
          .jobs_duplicate = counters.jobs_duplicate,
          .jobs_dead = counters.jobs_dead,
          .jobs_expired = counters.jobs_expired,
          .job_ends = counters.job_ends,
          .puts_refused = counters.puts_refused,
          .schedules = schedule_counts(),
          .body_bytes = state_->jobs.body_bytes()};
}

std::optional<TubeStats> EngineView::tube_statistics(TubeId number) const {
  if (!state_->tubes.has_number(number)) return std::nullopt;
  return stats_of(*state_, state_->tubes.of(number));
}

std::optional<TubeStats> EngineView::tube_statistics(std::string_view name) const {
  const Tube* const tube = state_->tubes.find(name);
  if (tube == nullptr) return std::nullopt;
  return stats_of(*state_, *tube);
}

std::optional<JobStats> EngineView::job_statistics(JobId id) const {
  const Job* const job = state_->jobs.find(id);
  if (job == nullptr) return std::nullopt;
  return stats_of(*state_, *job);
}

EndedSpan EngineView::ended_span(std::string_view tube) const {
  return state_->ended.of(tube);
}

uint64_t EngineView::ended_not_kept() const {
  return state_->counters.ended_not_kept;
}

TubeSettings EngineView::settings_of(std::string_view tube) const {
  return state_->tubes.settings().in_force(tube);
}

const TubeSettings* EngineView::settings_set(std::string_view tube) const {
  return state_->tubes.settings().find(tube);
}

const std::string* EngineView::next_with_ended(std::string_view after) const {
  const auto next = state_->ended.by_tube().upper_bound(after);
  return next != state_->ended.by_tube().end() ? &next->first : nullptr;
}

namespace {

std::optional<EngineView::SeenSchedule> seen(const ScheduleEntry* entry) {
  if (entry == nullptr) return std::nullopt;
  EngineView::SeenSchedule seen = {
      .stored = &entry->stored, .offset = entry->offset, .refusal = std::nullopt};
  if (entry->retry_at > 0 && entry->refused) seen.refusal = entry->refused->why;
  return seen;
}

}  // namespace

std::optional<EngineView::SeenSchedule> EngineView::schedule(std::string_view name) const {
  return seen(state_->schedules.find(name));
}

std::optional<EngineView::SeenSchedule> EngineView::next_schedule(std::string_view after) const {
  return seen(state_->schedules.next(after));
}

ScheduleCounts EngineView::schedule_counts() const {
  ScheduleCounts counts = state_->counters.schedules;
  counts.schedules = state_->schedules.size();
  counts.refused = state_->schedules.refused();
  return counts;
}

JobStats EngineView::ended_statistics(const EndedJob& ended, Nanos now) const {
  return stats_of(ended, now);
}

bool EngineView::matches(const EndedJob& ended, const JobMatch& match, Nanos now) const {
  return is_matched(from_row(ended.row), match, now);
}

std::vector<ConnId> EngineView::connections() const {
  std::vector<ConnId> out;
  out.reserve(state_->conns.all().size());
  for (const auto& [id, conn] : state_->conns.all()) {
    if (!conn->is_internal && !conn->closing) out.push_back(id);
  }
  return out;
}

std::optional<uint64_t> EngineView::operation_progress(ConnId id) const {
  const Conn* const conn = state_->conns.find(id);
  if (conn == nullptr || !conn->operation) return std::nullopt;
  return conn->operation->moved();
}

std::optional<ConnStats> EngineView::connection_statistics(ConnId id) const {
  const Conn* const conn = state_->conns.find(id);
  if (conn == nullptr || conn->closing) return std::nullopt;
  ConnStats stats = {.id = id,
                     .used = state_->tubes.of(conn->used).name,
                     .held = conn->reserved->size(),
                     .is_producer = conn->producer,
                     .is_worker = conn->worker,
                     .is_waiting = conn->waiting};
  for (const WatchLink& link : conn->watched.links()) {
    if (stats.watched.size() < ConnStats::watched_shown_max) {
      stats.watched.push_back(state_->tubes.of(link.tube).name);
    }
    ++stats.watched_count;
  }
  return stats;
}

NamesSize EngineView::watched_size(ConnId conn) const {
  const WatchList& watched = state_->conns.of(conn).watched;
  return {watched.size(), watched.name_bytes()};
}

size_t EngineView::listed_bytes(ConnId conn, const Command& command) const {
  constexpr size_t line_bytes = 3;  // "- " and LF around each name.
  if (const auto* const jobs = std::get_if<ListJobs>(&command)) {
    constexpr size_t job_line_bytes = 200;
    return std::min<size_t>(jobs->count.value, state_->jobs.size()) * job_line_bytes;
  }
  NamesSize size;
  if (std::holds_alternative<ListTubes>(command)) size = tubes_size();
  if (std::holds_alternative<ListTubesWatched>(command)) size = watched_size(conn);
  return size.bytes + size.count * line_bytes;
}

size_t EngineView::memory_bytes() const {
  return state_->jobs.memory_bytes() + state_->fields.memory_bytes() +
         state_->tubes.memory_bytes() + state_->conns.memory_bytes() + state_->keys.memory_bytes() +
         state_->ended.memory_bytes() + state_->schedules.memory_bytes();
}

}  // namespace perennial::engine
