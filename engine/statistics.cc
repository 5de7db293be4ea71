// The commands that only read: statistics, listings, peeks.

#include <algorithm>
#include <utility>

#include "engine/engine.h"

namespace perennial::engine {
namespace {

const Job* top_of(const auto& jobs) {
  return jobs.empty() ? nullptr : jobs.top().item;
}

// A tube with no more jobs in the states is not searched for among all jobs.
constexpr size_t few_jobs_max = 1'000;

size_t count_in(const Tube& tube, StateSet states) {
  return (states.holds(JobState::Ready) ? tube.ready_count() : 0) +
         (states.holds(JobState::Reserved) ? tube.reserved.size() : 0) +
         (states.holds(JobState::Delayed) ? tube.delayed.size() : 0) +
         (states.holds(JobState::Buried) ? tube.buried.size() : 0);
}

}  // namespace

template <typename Visit>
void Engine::for_each_in(const Tube& tube, StateSet states, Visit visit) const {
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

void Engine::run(Conn& conn, const Peek& peek) {
  answer_found(conn, find_job(peek.id), peek.with);
}

void Engine::run(Conn& conn, const PeekReady& peek) {
  const Tube& tube = tube_of(conn.used);
  const Job* job = top_of(tube.ready);
  if (job == nullptr && tube.groups) job = tube.groups->first_behind();
  answer_found(conn, job, peek.with);
}

void Engine::run(Conn& conn, const PeekDelayed& peek) {
  answer_found(conn, top_of(tube_of(conn.used).delayed), peek.with);
}

void Engine::run(Conn& conn, const PeekBuried& peek) {
  answer_found(conn, top_of(tube_of(conn.used).buried), peek.with);
}

void Engine::run(Conn& conn, const PeekReserved& peek) {
  const auto& reserved = tube_of(conn.used).reserved;
  answer_found(conn, reserved.empty() ? nullptr : find_job(reserved.begin()->first), peek.with);
}

void Engine::answer_found(Conn& conn, const Job* job, const JobFacts& with) {
  if (job == nullptr) return answer(conn, Word::NotFound);
  answer(conn, job_reply(Word::Found, *job, with));
}

JobReply Engine::job_reply(Word word, const Job& job, const JobFacts& with) const {
  JobReply reply = {.word = word, .id = job.id, .body_bytes = job.body_bytes};
  if (!with.empty()) reply.facts = JobReply::Facts{.asked = with, .stats = stats_of(job)};
  return reply;
}

JobStats Engine::stats_of(const Job& job) const {
  const bool timed = job.state == JobState::Delayed || job.state == JobState::Reserved;
  JobStats stats = {
      .id = job.id,
      .tube = tube_of(job.tube).name,
      .state = job.state,
      .priority = job.priority,
      .age = now_ - job.created,
      .delay = delay_of(job),
      .ttr = ttr_of(job),
      .time_left = timed ? std::max<Nanos>(static_cast<Nanos>(job.order) - now_, 0) : 0,
      .reserves = job.reserves,
      .timeouts = job.timeouts,
      .releases = job.releases,
      .buries = job.buries,
      .kicks = job.kicks,
      .body_bytes = job.body_bytes,
      .holder = job.state == JobState::Reserved ? job.place.holder : 0};
  if (limits_.has_extensions) stats.more = more_of(job);
  return stats;
}

JobStats::More Engine::more_of(const Job& job) const {
  JobStats::More more = {
      .tries = tries_of(job), .backoff = backoff_of(job), .dead = dead_tube_of(job)};
  const JobFields* const fields = fields_of(job);
  if (fields == nullptr) return more;
  more.attempts = fields->attempts;
  more.from = fields->from;
  if (fields->expires_at > 0) more.expire_left = std::max<Nanos>(fields->expires_at - now_, 0);
  if (fields->key) {
    more.key = fields->key->key;
    more.key_seconds = fields->key->seconds;
  }
  more.concurrency = fields->concurrency;
  more.parked = is_parked(job);
  return more;
}

std::optional<JobStats> Engine::job_statistics(JobId id) const {
  const Job* const* const job = jobs_.find(id);
  if (job == nullptr) return std::nullopt;
  return stats_of(**job);
}

void Engine::run(Conn& conn, const StatsJob& command) {
  std::optional<JobStats> stats = job_statistics(command.id);
  if (!stats) return answer(conn, Word::NotFound);
  answer(conn, std::make_unique<JobStats>(*std::move(stats)));
}

// The job that holds the key now. Null also while the key is in its cooldown.
const Job* Engine::holder_of(std::string_view tube, std::string_view key) const {
  const KeyTable::Entry* const entry = taken_key(tube, key);
  const Job* const* const job = entry != nullptr ? jobs_.find(entry->job) : nullptr;
  if (job == nullptr) return nullptr;
  const JobFields* const fields = fields_of(**job);
  return fields != nullptr && fields->key && !fields->key->given_up ? *job : nullptr;
}

// The jobs of a tube that has few of them, wherever they are among all jobs. The cursor is as after
// a walk over all of them.
uint32_t Engine::list_few(const Tube& tube, const ListJobs& list, JobList& found) const {
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

std::optional<uint32_t> Engine::list_jobs(const ListJobs& list, uint32_t scan_max,
                                          JobList& found) const {
  const Tube* const tube = list.tube.empty() ? nullptr : find_tube(list.tube);
  if (tube == nullptr && !list.tube.empty()) return std::nullopt;
  if (!list.key.empty()) {
    const Job* const holder = holder_of(list.tube, list.key);
    const bool is_asked_for =
        holder != nullptr && holder->id > list.after && list.states.holds(holder->state);
    if (is_asked_for) found.jobs.push_back(stats_of(*holder));
    return 0;
  }
  if (tube != nullptr && count_in(*tube, list.states) <= few_jobs_max) {
    return list_few(*tube, list, found);
  }
  uint32_t looked_at = 0;
  auto entry = IdMap<Job*>::ConstEntry();
  if (list.after < UINT64_MAX) entry = jobs_.first_from(list.after + 1);
  while (entry.value != nullptr && looked_at < scan_max && found.jobs.size() < list.count.value) {
    const Job& job = **entry.value;
    ++looked_at;
    found.cursor = job.id;
    const bool is_asked_for =
        (tube == nullptr || job.tube == tube->id) && list.states.holds(job.state);
    if (is_asked_for) found.jobs.push_back(stats_of(job));
    entry = jobs_.first_from(job.id + 1);
  }
  if (entry.value == nullptr) found.cursor = 0;
  return looked_at;
}

bool Engine::count_jobs(const CountJobs& asked, uint32_t scan_max, JobCount& counted) const {
  const Tube* const tube = find_tube(asked.tube);
  if (tube == nullptr) return true;
  if (!asked.match.is_set()) {
    counted.count = count_in(*tube, asked.states);
    return true;
  }
  const auto is_wanted = [&](const Job& job) { return is_matched(job, asked.match, now_); };
  if (counted.cursor == 0 && count_in(*tube, asked.states) <= few_jobs_max) {
    for_each_in(*tube, asked.states, [&](const Job& job) { counted.count += is_wanted(job); });
    return true;
  }
  for (uint32_t looked_at = 0; looked_at < scan_max; ++looked_at) {
    const auto entry = jobs_.first_from(counted.cursor + 1);
    if (entry.value == nullptr) return true;
    const Job& job = **entry.value;
    counted.cursor = job.id;
    counted.count +=
        job.tube == tube->id && asked.states.holds(job.state) && is_wanted(job) ? 1 : 0;
  }
  return false;
}

// The cost of a command is bounded by list_scan_max, so it needs no further turn.
void Engine::run(Conn& conn, const ListJobs& list) {
  auto found = std::make_unique<JobList>();
  const std::optional<uint32_t> looked_at = list_jobs(list, list_scan_max, *found);
  if (!looked_at) return answer(conn, Word::NotFound);
  cost_ += *looked_at * cost::job_looked_at + found->jobs.size() * cost::job_listed;
  answer(conn, std::move(found));
}

TubeStats Engine::stats_of(const Tube& tube) const {
  TubeStats stats = {
      .name = tube.name,
      .jobs = {.urgent = tube.urgent_count,
               .ready = tube.ready_count(),
               .reserved = tube.reserved.size(),
               .delayed = tube.delayed.size(),
               .buried = tube.buried.size()},
      .total_jobs = tube.total_jobs,
      .puts = tube.total_jobs - tube.loaded_jobs,
      .using_count = tube.using_count,
      .watching_count = tube.watching_count,
      .waiting_count = tube.waiting.size(),
      .cmd_delete = tube.cmd_delete,
      .cmd_pause_tube = tube.cmd_pause_tube,
      .pause = tube.pause,
      .pause_time_left = tube.paused() ? std::max<Nanos>(tube.pause_until - now_, 0) : 0,
      .oldest_ready_age = now_ - tube.ready_order.first(pool_).value_or(now_),
      .next_buried_age = tube.buried.empty() ? 0 : now_ - tube.buried.top().item->created,
      .timeouts = tube.timeouts};
  if (limits_.has_extensions) {
    stats.more = TubeStats::More{.jobs_parked = tube.parked_count(),
                                 .jobs_duplicate = tube.jobs_duplicate,
                                 .jobs_dead = tube.jobs_dead,
                                 .jobs_expired = tube.jobs_expired,
                                 .settings = tube.settings ? *tube.settings : TubeSettings()};
  }
  return stats;
}

std::optional<TubeStats> Engine::tube_statistics(TubeId number) const {
  if (number >= tubes_.size() || tubes_[number] == nullptr) return std::nullopt;
  return stats_of(*tubes_[number]);
}

std::optional<TubeStats> Engine::tube_statistics(std::string_view name) const {
  const Tube* const tube = find_tube(name);
  if (tube == nullptr) return std::nullopt;
  return stats_of(*tube);
}

std::vector<ConnId> Engine::connections() const {
  std::vector<ConnId> out;
  out.reserve(conns_.size());
  for (const auto& [id, conn] : conns_) {
    if (!conn->is_internal && !conn->closing) out.push_back(id);
  }
  return out;
}

std::optional<uint64_t> Engine::operation_progress(ConnId conn) const {
  const auto found = conns_.find(conn);
  if (found == conns_.end() || !found->second->operation) return std::nullopt;
  struct Done {
    uint64_t operator()(const Kicking& kick) const { return kick.kicked; }
    uint64_t operator()(const GivingBack& /*closed*/) const { return 0; }
    uint64_t operator()(const Flushing& flush) const { return flush.flushed; }
    uint64_t operator()(const Moving& move) const { return move.moved; }
    uint64_t operator()(const KickingTube& kick) const { return kick.kicked; }
  };
  return std::visit(Done(), *found->second->operation);
}

std::optional<ConnStats> Engine::connection_statistics(ConnId id) const {
  const auto found = conns_.find(id);
  if (found == conns_.end() || found->second->closing) return std::nullopt;
  const Conn& conn = *found->second;
  ConnStats stats = {.id = id,
                     .used = tube_of(conn.used).name,
                     .held = conn.reserved.size(),
                     .is_producer = conn.producer,
                     .is_worker = conn.worker,
                     .is_waiting = conn.waiting};
  for (const WatchLink& link : conn.watched.links()) {
    if (stats.watched.size() < ConnStats::watched_shown_max) {
      stats.watched.push_back(tube_of(link.tube).name);
    }
    ++stats.watched_count;
  }
  return stats;
}

void Engine::run(Conn& conn, const StatsTube& command) {
  const Tube* const tube = find_tube(command.tube);
  auto stats = std::make_unique<TubeStats>();
  if (tube == nullptr) {
    // A tube that has only settings.
    if (!settings_.contains(command.tube)) return answer(conn, Word::NotFound);
    stats->name = command.tube;
    stats->more = TubeStats::More{.settings = settings_of(command.tube)};
    return answer(conn, std::move(stats));
  }
  *stats = stats_of(*tube);
  answer(conn, std::move(stats));
}

EngineStats Engine::statistics() const {
  return {.jobs = counts_,
          .commands = commands_,
          .job_timeouts = job_timeouts_,
          .total_jobs = total_jobs_,
          .puts = total_jobs_ - loaded_jobs_,
          .tubes = tube_list_.size(),
          .connections = connections_,
          .producers = producers_,
          .workers = workers_,
          .waiting = waiting_,
          .total_connections = total_connections_,
          .jobs_damaged = jobs_damaged_,
          .draining = draining_,
          .jobs_parked = jobs_parked_,
          .keys = keys_.size(),
          .jobs_duplicate = jobs_duplicate_,
          .jobs_dead = jobs_dead_,
          .jobs_expired = jobs_expired_,
          .job_ends = job_ends_,
          .puts_refused = puts_refused_,
          .body_bytes = body_bytes_};
}

void Engine::run(Conn& conn, const Stats& /*stats*/) {
  answer(conn, std::make_unique<EngineStats>(statistics()));
}

size_t Engine::listed_bytes(ConnId conn, const Command& command) const {
  constexpr size_t line_bytes = 3;  // "- " and LF around each name.
  if (const auto* const jobs = std::get_if<ListJobs>(&command)) {
    constexpr size_t job_line_bytes = 200;
    return std::min<size_t>(jobs->count.value, jobs_.size()) * job_line_bytes;
  }
  NamesSize size;
  if (std::holds_alternative<ListTubes>(command)) size = tubes_size();
  if (std::holds_alternative<ListTubesWatched>(command)) size = watched_size(conn);
  return size.bytes + size.count * line_bytes;
}

void Engine::run(Conn& conn, const ListTubes& /*list*/) {
  if (tube_list_.size() > limits_.names_per_part_max) return list(conn.id, 0);
  cost_ += tube_list_.size() * cost::name_listed;
  auto names = std::make_unique<TubeNames>();
  names->names.reserve(tube_list_.size());
  for (const Tube* tube : tube_list_) names->names.push_back(tube->name);
  answer(conn, std::move(names));
}

void Engine::run(Conn& conn, const ListTubeUsed& /*list*/) {
  answer(conn, Using{tube_of(conn.used).name});
}

void Engine::run(Conn& conn, const ListTubesWatched& /*list*/) {
  if (conn.watched.size() > limits_.names_per_part_max) return list(conn.id, conn.id);
  cost_ += conn.watched.size() * cost::name_listed;
  auto names = std::make_unique<TubeNames>();
  names->names.reserve(conn.watched.size());
  for (const WatchLink& link : conn.watched.links()) {
    names->names.push_back(tube_of(link.tube).name);
  }
  answer(conn, std::move(names));
}

}  // namespace perennial::engine
