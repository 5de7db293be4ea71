// What clients may ask: statistics, listings, peeks.

#include <algorithm>
#include <utility>

#include "engine/engine.h"

namespace perennial::engine {
namespace {

const Job* top_of(const auto& jobs) {
  return jobs.empty() ? nullptr : jobs.top().item;
}

}  // namespace

void Engine::run(Conn& conn, const Peek& peek) {
  answer_found(conn, find_job(peek.id));
}

void Engine::run(Conn& conn, const PeekReady& /*peek*/) {
  answer_found(conn, top_of(tube_of(conn.used).ready));
}

void Engine::run(Conn& conn, const PeekDelayed& /*peek*/) {
  answer_found(conn, top_of(tube_of(conn.used).delayed));
}

void Engine::run(Conn& conn, const PeekBuried& /*peek*/) {
  answer_found(conn, top_of(tube_of(conn.used).buried));
}

void Engine::answer_found(Conn& conn, const Job* job) {
  if (job == nullptr) return answer(conn, Word::NotFound);
  answer(conn, JobReply{JobReply::Kind::Found, job->id, job->body_bytes});
}

void Engine::run(Conn& conn, const StatsJob& command) {
  const Job* const job = find_job(command.id);
  if (job == nullptr) return answer(conn, Word::NotFound);
  const bool timed = job->state == JobState::Delayed || job->state == JobState::Reserved;
  auto stats = std::make_unique<JobStats>();
  *stats = {.id = job->id,
            .tube = tube_of(job->tube).name,
            .state = job->state,
            .priority = job->priority,
            .age = now_ - job->created,
            .delay_s = job->delay_s,
            .ttr_s = job->ttr_s,
            .time_left = timed ? std::max<Nanos>(static_cast<Nanos>(job->order) - now_, 0) : 0,
            .reserves = job->reserves,
            .timeouts = job->timeouts,
            .releases = job->releases,
            .buries = job->buries,
            .kicks = job->kicks};
  answer(conn, std::move(stats));
}

void Engine::run(Conn& conn, const StatsTube& command) {
  const Tube* const tube = find_tube(command.tube);
  if (tube == nullptr) return answer(conn, Word::NotFound);
  auto stats = std::make_unique<TubeStats>();
  *stats = {.name = tube->name,
            .jobs = {.urgent = tube->urgent_count,
                     .ready = tube->ready.size(),
                     .reserved = tube->reserved_count,
                     .delayed = tube->delayed.size(),
                     .buried = tube->buried.size()},
            .total_jobs = tube->total_jobs,
            .using_count = tube->using_count,
            .watching_count = tube->watching_count,
            .waiting_count = tube->waiting.size(),
            .cmd_delete = tube->cmd_delete,
            .cmd_pause_tube = tube->cmd_pause_tube,
            .pause = tube->pause,
            .pause_time_left = tube->paused() ? std::max<Nanos>(tube->pause_until - now_, 0) : 0,
            .next_ready_age = tube->ready.empty() ? 0 : now_ - tube->ready.top().item->created};
  answer(conn, std::move(stats));
}

void Engine::run(Conn& conn, const Stats& /*stats*/) {
  auto stats = std::make_unique<EngineStats>();
  *stats = {.jobs = counts_,
            .commands = commands_,
            .job_timeouts = job_timeouts_,
            .total_jobs = total_jobs_,
            .tubes = tube_list_.size(),
            .connections = connections_,
            .producers = producers_,
            .workers = workers_,
            .waiting = waiting_,
            .total_connections = total_connections_,
            .jobs_damaged = jobs_damaged_,
            .draining = draining_};
  answer(conn, std::move(stats));
}

size_t Engine::listed_bytes(ConnId conn, const Command& command) const {
  constexpr size_t line_bytes = 3;  // "- ", the name, LF.
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
