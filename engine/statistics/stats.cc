#include "engine/statistics/stats.h"

#include <algorithm>

namespace perennial::engine {
namespace {

// What the fields of a live job and of one that has ended tell alike.
void tell_fields(JobStats::More& more, const JobFields& fields) {
  more.attempts = fields.attempts;
  more.from = fields.from;
  if (fields.key) {
    more.key = fields.key->key;
    more.key_seconds = fields.key->seconds;
  }
  more.concurrency = fields.concurrency.copy();
  more.notes = fields.notes;
  more.restored = fields.restored;
  more.put_by = fields.put_by;
  more.first_reserved = fields.first_reserved;
  if (fields.schedule) {
    more.schedule = fields.schedule->name;
    more.planned = fields.schedule->planned;
  }
}

JobStats::More more_of(const State& state, const Job& job) {
  const Tube& tube = state.tube_of(job);
  JobStats::More more = {.tries = state.fields.tries_of(job, tube),
                         .backoff = state.fields.backoff_of(job, tube),
                         .dead = state.fields.dead_tube_of(job, tube),
                         .put_at = job.created};
  const JobFields* const fields = state.fields.of(job);
  if (fields == nullptr) return more;
  tell_fields(more, *fields);
  if (fields->expires_at > 0) {
    more.expire_left = std::max<Nanos>(fields->expires_at - state.turn.now(), 0);
  }
  more.parked = state.jobs.is_parked(job);
  return more;
}

}  // namespace

JobStats stats_of(const State& state, const Job& job) {
  const Nanos now = state.turn.now();
  const bool timed = job.state == JobState::Delayed || job.state == JobState::Reserved;
  JobStats stats = {
      .id = job.id,
      .tube = state.tube_of(job).name,
      .state = job.state,
      .priority = job.priority,
      .age = now - job.created,
      .delay = state.fields.delay_of(job),
      .ttr = state.fields.ttr_of(job),
      .time_left = timed ? std::max<Nanos>(static_cast<Nanos>(job.order) - now, 0) : 0,
      .reserves = job.reserves,
      .timeouts = job.timeouts,
      .releases = job.releases,
      .buries = job.buries,
      .kicks = job.kicks,
      .body_bytes = job.body_bytes,
      .holder = job.state == JobState::Reserved ? job.place.holder : 0};
  if (state.limits.has_extensions) stats.more = more_of(state, job);
  return stats;
}

JobStats stats_of(const EndedJob& ended, Nanos now) {
  const JobRow& row = ended.row;
  const JobFields fields = row.fields ? *row.fields : JobFields();
  const auto whole = [](uint32_t seconds, uint32_t rest_ns) {
    return static_cast<Nanos>(seconds) * nanos_per_second + rest_ns;
  };
  JobStats stats = {.id = row.id,
                    .tube = ended.tube,
                    .state = row.state,
                    .priority = row.priority,
                    .age = now - row.created,
                    .delay = whole(row.delay_s, fields.delay_rest_ns),
                    .ttr = whole(row.ttr_s, fields.ttr_rest_ns),
                    .reserves = row.reserves,
                    .timeouts = row.timeouts,
                    .releases = row.releases,
                    .buries = row.buries,
                    .kicks = row.kicks,
                    .body_bytes = row.body_bytes};
  stats.more = JobStats::More{.tries = fields.tries,
                              .backoff = fields.backoff ? *fields.backoff : Backoff(),
                              .dead = fields.dead,
                              .put_at = row.created};
  tell_fields(*stats.more, fields);
  stats.ended = JobStats::Ended{.how = ended.how,
                                .at = ended.at,
                                .age = now - ended.at,
                                .user = ended.user,
                                .place = ended.place};
  return stats;
}

bool has_died(const State& state, const Job& job) {
  const JobFields* const fields = state.fields.of(job);
  return fields != nullptr && !fields->from.empty();
}

bool holds_dead(const State& state, const Tube& tube) {
  constexpr size_t looked_at_max = 16;
  for (size_t place = 0; place < std::min(looked_at_max, tube.ready->size()); ++place) {
    if (has_died(state, tube.ready->at(place))) return true;
  }
  return false;
}

TubeStats stats_of(const State& state, const Tube& tube) {
  const Nanos now = state.turn.now();
  TubeStats stats = {
      .name = tube.name,
      .jobs = {.urgent = *tube.urgent_count,
               .ready = tube.ready_count(),
               .reserved = tube.reserved->size(),
               .delayed = tube.delayed->size(),
               .buried = tube.buried->size()},
      .total_jobs = tube.total_jobs,
      .puts = tube.total_jobs - tube.loaded_jobs,
      .put_bytes = tube.put_bytes,
      .using_count = tube.using_count,
      .watching_count = tube.watching_count,
      .waiting_count = tube.waiting.size(),
      .cmd_delete = tube.cmd_delete,
      .cmd_pause_tube = tube.cmd_pause_tube,
      .pause = tube.pause,
      .pause_time_left = tube.paused() ? std::max<Nanos>(tube.pause_until - now, 0) : 0,
      .oldest_ready_age = now - state.jobs.oldest_ready(tube).value_or(now),
      .next_buried_age = tube.buried->empty() ? 0 : now - tube.buried->top().item->created,
      .timeouts = tube.timeouts,
      .job_ends = tube.job_ends,
      .holds_dead = holds_dead(state, tube)};
  if (state.limits.has_extensions) {
    stats.more = TubeStats::More{.jobs_parked = tube.parked_count(),
                                 .jobs_duplicate = tube.jobs_duplicate,
                                 .jobs_dead = tube.jobs_dead,
                                 .jobs_expired = tube.jobs_expired,
                                 .settings = tube.settings ? *tube.settings : TubeSettings()};
  }
  return stats;
}

JobReply job_reply(const State& state, Word word, const Job& job, const JobFacts& with) {
  JobReply reply = {.word = word, .id = job.id, .body_bytes = job.body_bytes};
  if (!with.empty()) reply.facts = JobReply::Facts{.asked = with, .stats = stats_of(state, job)};
  return reply;
}

}  // namespace perennial::engine
