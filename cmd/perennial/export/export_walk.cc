#include "cmd/perennial/export/export_walk.h"

#include <utility>

#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {
namespace {

Command peek_first(JobState state) {
  if (state == JobState::Delayed) return PeekDelayed{};
  if (state == JobState::Buried) return PeekBuried{};
  return PeekReady{};
}

// Sets the fields of a job from stats-job. If the job is reserved already, its state is left
// unchanged.
Status fill(TakenJob& job, const StatsReply& stats) {
  job.priority = static_cast<uint32_t>(stats.count("pri"));
  job.ttr_s = static_cast<uint32_t>(stats.count("ttr"));
  job.notes = stats.count("notes");
  if (stats.text("state") == "buried") job.state = JobState::Buried;
  if (stats.text("state") == "delayed") {
    job.state = JobState::Delayed;
    job.delay_left_s = static_cast<uint32_t>(stats.count("time-left"));
  }
  Result<Extras<perennial::PutOptions>> extras =
      extras_of_job(stats, delay_of_copy(job.state, job.delay_left_s));
  if (!extras.ok()) return extras.take_status();
  job.extras = extras.take();
  return {};
}

}  // namespace

uint32_t delay_of_copy(JobState state, uint32_t delay_left_s) {
  constexpr uint32_t until_buried_s = 3600;
  if (state == JobState::Buried) return until_buried_s;
  return state == JobState::Delayed ? rounded_up(delay_left_s) : 0;
}

Result<ExportWalk::Window> ExportWalk::take_ready() {
  Window window;
  for (size_t i = 0; i < window_jobs_; ++i) source_.add(ReserveWithTimeout{0});
  for (size_t i = 0; i < window_jobs_; ++i) {
    Result<wire::ClientReply> reply = source_.receive();
    if (!reply.ok()) return reply.take_status();
    if (reply->is(Word::Reserved)) {
      window.jobs.push_back({.id = reply->number, .body = std::move(reply->text)});
    } else if (!reply->is(Word::TimedOut) && !reply->is(Word::DeadlineSoon)) {
      window.trouble = describe(*reply);
    }
  }
  if (Status filled = fill_in(window.jobs); !filled.ok()) return filled;
  return window;
}

// A job that is gone, because its reservation timed out and a worker took it, is dropped from the
// list.
Status ExportWalk::fill_in(std::vector<TakenJob>& jobs) {
  for (const TakenJob& job : jobs) source_.add(StatsJob{job.id});
  std::vector<TakenJob> found;
  for (TakenJob& job : jobs) {
    const Result<wire::ClientReply> reply = source_.receive();
    if (!reply.ok()) return reply.status();
    if (reply->is(Word::NotFound)) continue;
    if (!reply->is(Word::Ok)) return unexpected(*reply, "stats-job");
    const Result<StatsReply> stats = StatsReply::parse(reply->text);
    if (!stats.ok()) return stats.status();
    if (Status filled = fill(job, *stats); !filled.ok()) return filled;
    found.push_back(std::move(job));
  }
  jobs = std::move(found);
  return {};
}

// The commands for one job and the peek for the next one are sent together, which takes one round
// trip per job.
Result<ExportWalk::Window> ExportWalk::take_first(JobState state) {
  Window window;
  source_.add(peek_first(state));
  Result<Next> next = receive_peeked();
  while (next.ok() && next->id) {
    const JobId id = *next->id;
    const bool last = window.jobs.size() + 1 == window_jobs_;
    source_.add(StatsJob{id});
    source_.add(ReserveJob{id});
    if (!last) source_.add(peek_first(state));
    Result<std::optional<TakenJob>> taken = receive_taken(id);
    if (!taken.ok()) return taken.take_status();
    if (taken->has_value()) window.jobs.push_back(std::move(**taken));
    if (last) return window;
    next = receive_peeked();
    // A job that still exists and cannot be reserved would be returned for ever.
    if (next.ok() && next->id == id) break;
  }
  if (!next.ok()) return next.take_status();
  window.trouble = next->trouble;
  return window;
}

Result<ExportWalk::Next> ExportWalk::receive_peeked() {
  const Result<wire::ClientReply> reply = source_.receive();
  if (!reply.ok()) return reply.status();
  if (reply->is(Word::Found)) return Next{.id = reply->number, .trouble = {}};
  if (reply->is(Word::NotFound)) return Next{};
  return Next{.id = std::nullopt, .trouble = describe(*reply)};
}

Result<std::optional<TakenJob>> ExportWalk::receive_taken(JobId id) {
  const Result<wire::ClientReply> before = source_.receive();
  if (!before.ok()) return before.status();
  Result<wire::ClientReply> taken = source_.receive();
  if (!taken.ok()) return taken.take_status();
  if (!before->is(Word::Ok) || !taken->is(Word::Reserved)) return std::optional<TakenJob>();
  const Result<StatsReply> stats = StatsReply::parse(before->text);
  if (!stats.ok()) return stats.status();
  TakenJob job{.id = id, .body = std::move(taken->text)};
  if (Status filled = fill(job, *stats); !filled.ok()) return filled;
  return std::optional<TakenJob>(std::move(job));
}

Status ExportWalk::put_back(const std::vector<TakenJob>& jobs) {
  constexpr size_t in_flight_max = 500;
  size_t answered = 0;
  for (size_t sent = 0; answered < jobs.size(); ++answered) {
    for (; sent < jobs.size() && sent < answered + in_flight_max; ++sent) {
      const TakenJob& job = jobs[sent];
      if (job.state == JobState::Buried) {
        source_.add(Bury{job.id, job.priority});
      } else {
        source_.add(Release{.id = job.id,
                            .priority = job.priority,
                            .delay_s = job.delay_left_s,
                            .count = No{counts_attempts_}});
      }
    }
    // NOT_FOUND means that the reservation timed out, so that the job is ready already.
    const Result<wire::ClientReply> reply = source_.receive();
    if (!reply.ok()) return reply.status();
  }
  return {};
}

}  // namespace perennial::tool
