// The commands that only read: statistics, listings, peeks.

#include <algorithm>
#include <utility>

#include "engine/state.h"

namespace perennial::engine {
namespace {

const Job* top_of(const auto& jobs) {
  return jobs.empty() ? nullptr : jobs.top().item;
}

}  // namespace

void State::run(Conn& conn, const Peek& peek) {
  answer_found(conn, find_job(peek.id), peek.with);
}

void State::run(Conn& conn, const PeekReady& peek) {
  const Tube& tube = tube_of(conn.used);
  const Job* job = top_of(tube.ready);
  if (job == nullptr && tube.groups) job = tube.groups->first_behind();
  answer_found(conn, job, peek.with);
}

void State::run(Conn& conn, const PeekDelayed& peek) {
  answer_found(conn, top_of(tube_of(conn.used).delayed), peek.with);
}

void State::run(Conn& conn, const PeekBuried& peek) {
  answer_found(conn, top_of(tube_of(conn.used).buried), peek.with);
}

void State::run(Conn& conn, const PeekReserved& peek) {
  const auto& reserved = tube_of(conn.used).reserved;
  answer_found(conn, reserved.empty() ? nullptr : find_job(reserved.begin()->first), peek.with);
}

void State::answer_found(Conn& conn, const Job* job, const JobFacts& with) {
  if (job == nullptr) return answer(conn, Word::NotFound);
  answer(conn, job_reply(Word::Found, *job, with));
}

JobReply State::job_reply(Word word, const Job& job, const JobFacts& with) const {
  JobReply reply = {.word = word, .id = job.id, .body_bytes = job.body_bytes};
  if (!with.empty()) reply.facts = JobReply::Facts{.asked = with, .stats = stats_of(job)};
  return reply;
}

JobStats State::stats_of(const Job& job) const {
  const bool timed = job.state == JobState::Delayed || job.state == JobState::Reserved;
  JobStats stats = {
      .id = job.id,
      .tube = tube_of(job.tube).name,
      .state = job.state,
      .priority = job.priority,
      .age = turn_.now() - job.created,
      .delay = delay_of(job),
      .ttr = ttr_of(job),
      .time_left = timed ? std::max<Nanos>(static_cast<Nanos>(job.order) - turn_.now(), 0) : 0,
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

JobStats::More State::more_of(const Job& job) const {
  JobStats::More more = {
      .tries = tries_of(job), .backoff = backoff_of(job), .dead = dead_tube_of(job)};
  const JobFields* const fields = fields_of(job);
  if (fields == nullptr) return more;
  more.attempts = fields->attempts;
  more.from = fields->from;
  if (fields->expires_at > 0)
    more.expire_left = std::max<Nanos>(fields->expires_at - turn_.now(), 0);
  if (fields->key) {
    more.key = fields->key->key;
    more.key_seconds = fields->key->seconds;
  }
  more.concurrency = fields->concurrency;
  more.parked = is_parked(job);
  return more;
}

void State::run(Conn& conn, const StatsJob& command) {
  std::optional<JobStats> stats = view().job_statistics(command.id);
  if (!stats) return answer(conn, Word::NotFound);
  answer(conn, std::make_unique<JobStats>(*std::move(stats)));
}

// The cost of a command is bounded by list_scan_max, so it needs no further turn.
void State::run(Conn& conn, const ListJobs& list) {
  auto found = std::make_unique<JobList>();
  const std::optional<uint32_t> looked_at = view().list_jobs(list, list_scan_max, *found);
  if (!looked_at) return answer(conn, Word::NotFound);
  turn_.spend(*looked_at * cost::job_looked_at + found->jobs.size() * cost::job_listed);
  answer(conn, std::move(found));
}

TubeStats State::stats_of(const Tube& tube) const {
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
      .pause_time_left = tube.paused() ? std::max<Nanos>(tube.pause_until - turn_.now(), 0) : 0,
      .oldest_ready_age = turn_.now() - tube.ready_order.first(pool_).value_or(turn_.now()),
      .next_buried_age = tube.buried.empty() ? 0 : turn_.now() - tube.buried.top().item->created,
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

void State::run(Conn& conn, const StatsTube& command) {
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

void State::run(Conn& conn, const Stats& /*stats*/) {
  answer(conn, std::make_unique<EngineStats>(view().statistics()));
}

void State::run(Conn& conn, const ListTubes& /*list*/) {
  if (tube_list_.size() > limits_.names_per_part_max) return list(conn.id, 0);
  turn_.spend(tube_list_.size() * cost::name_listed);
  auto names = std::make_unique<TubeNames>();
  names->names.reserve(tube_list_.size());
  for (const Tube* tube : tube_list_) names->names.push_back(tube->name);
  answer(conn, std::move(names));
}

void State::run(Conn& conn, const ListTubeUsed& /*list*/) {
  answer(conn, Using{tube_of(conn.used).name});
}

void State::run(Conn& conn, const ListTubesWatched& /*list*/) {
  if (conn.watched.size() > limits_.names_per_part_max) return list(conn.id, conn.id);
  turn_.spend(conn.watched.size() * cost::name_listed);
  auto names = std::make_unique<TubeNames>();
  names->names.reserve(conn.watched.size());
  for (const WatchLink& link : conn.watched.links()) {
    names->names.push_back(tube_of(link.tube).name);
  }
  answer(conn, std::move(names));
}

}  // namespace perennial::engine
