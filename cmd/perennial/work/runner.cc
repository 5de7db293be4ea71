#include "cmd/perennial/work/runner.h"

#include <algorithm>
#include <array>

#include <poll.h>

#include "cmd/common/exit_codes.h"
#include "cmd/common/tool/requests.h"
#include "cmd/perennial/work/attempt.h"
#include "cmd/perennial/work/note_text.h"
#include "cmd/perennial/work/program.h"

namespace perennial::tool::work {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A reserve that finds no job is sent again so often: a server that has gone without a word is
// noticed then.
constexpr uint32_t reserve_s = 30;
constexpr seconds reserve_limit{reserve_s + 15};
// Between two attempts to connect.
constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{5000};

// `is_counted`: whether a release counts as a failed attempt.
Command command_of(const Job& job, const Verdict& verdict, bool is_counted) {
  switch (verdict.outcome) {
    case Outcome::Deleted:
      return Delete{job.id};
    case Outcome::Released:
      return Release{.id = job.id,
                     .priority = job.priority,
                     .delay_s = verdict.delay_s,
                     .delay_rest_ns = 0,
                     .count = {.given = !is_counted}};
    case Outcome::Buried:
      return Bury{job.id, job.priority};
    case Outcome::Lost:
      break;
  }
  CHECK(false);
}

Word success_of(Outcome outcome) {
  if (outcome == Outcome::Deleted) return Word::Deleted;
  return outcome == Outcome::Released ? Word::Released : Word::Buried;
}

}  // namespace

Result<int> Runner::run() {
  while (shared_.take_turn()) {
    if (const Status found = check_program(settings_.command); !found.ok()) return give_up(found);
    Result<std::optional<Job>> job = next_job();
    if (!job.ok()) return job.take_status();
    if (!job->has_value()) return common::exit_clean;
    if (const int status = work_on(**job); status != common::exit_clean) return status;
  }
  return common::exit_clean;
}

int Runner::give_up(const Status& failure) {
  shared_.log({{"level", "error"}, {"at", "work.no_command"}, {"error", failure.message()}});
  return status_of(failure);
}

Result<std::optional<Job>> Runner::next_job() {
  while (!shared_.stop().finishing()) {
    Status connected = server_ ? Status() : connect();
    if (connected.code() == StatusCode::InvalidArgument) return connected;
    Result<std::optional<Job>> job =
        connected.ok() ? reserve() : Result<std::optional<Job>>(std::move(connected));
    if (!job.ok()) {
      server_.reset();
      if (job.status().code() == StatusCode::InvalidArgument) return job;
      if (Status waited = wait_to_connect(job.take_status()); !waited.ok()) return waited;
      continue;
    }
    if (job->has_value() || settings_.drain) return job;
  }
  return std::optional<Job>();
}

Status Runner::connect() {
  Result<Connected> connected =
      multiplexer_ == nullptr ? connect_to_tubes(settings_) : multiplexer_->connect();
  if (!connected.ok()) return connected.take_status();
  server_.emplace(std::move(connected->server));
  allowed_ = connected->allowed;
  return {};
}

// A stop in the meantime leaves the reserve without its reply. The connection ends with the runner,
// and the server takes back a job that it may just have given.
Result<std::optional<Job>> Runner::reserve() {
  server_->add(ReserveWithTimeout{settings_.drain ? 0 : reserve_s});
  if (Status sent = server_->send(); !sent.ok()) return sent;
  const Result<bool> arrived = wait_for_reply(reserve_limit);
  if (!arrived.ok()) return arrived.status();
  if (!*arrived) {
    server_.reset();
    return std::optional<Job>();
  }
  Result<wire::ClientReply> reply = server_->receive();
  if (!reply.ok()) return reply.take_status();
  if (!reply->is(Word::Reserved) && !reply->is(Word::TimedOut))
    return failure_of(*reply, "reserve");
  away_since_.reset();
  shared_.server_back();
  if (reply->is(Word::TimedOut)) return std::optional<Job>();
  return describe(reply->number, std::move(reply->text));
}

Result<std::optional<Job>> Runner::describe(JobId id, std::string body) {
  Result<wire::ClientReply> reply = server_->ask(StatsJob{id});
  if (!reply.ok()) return reply.take_status().with("stats-job");
  // Each further job would be answered in the same way.
  if (reply->is(Word::Forbidden)) {
    return Status(StatusCode::InvalidArgument,
                  "stats-job: FORBIDDEN: the user of this worker needs the right to inspect its "
                  "tubes, too, to know tube, ttr and attempts of a job");
  }
  if (!reply->is(Word::Ok)) return unexpected(*reply, "stats-job");
  Result<StatsReply> stats = StatsReply::parse(reply->text);
  if (!stats.ok()) return stats.take_status().with("stats-job");
  return std::optional(Job{
      .id = id,
      .body = std::move(body),
      .tube = std::string(stats->text("tube").value_or("")),
      .priority = static_cast<uint32_t>(stats->count("pri")),
      .ttr_s = static_cast<uint32_t>(stats->count("ttr")),
      .attempt = stats->count("reserves"),
      .failures_before = stats->count("releases") + stats->count("timeouts"),
      .schedule = std::string(stats->text("schedule").value_or("")),
      .planned = std::string(stats->text("planned").value_or("")),
  });
}

int Runner::work_on(const Job& job) {
  const auto begun = Clock::now();
  const bool notes = inlet_ && allowed_.allows(Extension::Notes);
  Attempt attempt(settings_, shared_.stop(), child_signals_, *server_, job,
                  notes ? &*inlet_ : nullptr);
  Ending ending = attempt.run();
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begun);
  if (attempt.server_lost()) server_.reset();
  Verdict verdict = judge(settings_.policy, ending, job.failures_before);
  if (verdict.outcome != Outcome::Lost) conclude(job, verdict, ending);
  // The line comes behind what the command has written.
  if (inlet_) inlet_->wait();
  shared_.log(job_fields(job, verdict, ending, took));
  return ending.cause == Cause::NoProgram ? ending.status : common::exit_clean;
}

void Runner::conclude(const Job& job, Verdict& verdict, Ending& ending) {
  const bool is_counted = !is_without_blame(ending.cause) || !allowed_.allows(Extension::Attempts);
  const bool notes = inlet_ && allowed_.allows(Extension::Notes) && is_failure(ending);
  const Result<wire::ClientReply> reply =
      tell(job, command_of(job, verdict, is_counted),
           notes ? note_text(ending, settings_.timeout) : std::string());
  if (reply.ok() && reply->is(success_of(verdict.outcome))) return;
  if (reply.ok() && reply->is(Word::Buried)) {
    verdict = {.outcome = Outcome::Buried};
    ending.error = "the server says that the job has used up its tries, or is out of memory";
    return;
  }
  verdict = {.outcome = Outcome::Lost};
  ending.error = reply.ok() ? unexpected(*reply, "the job is not reserved").message()
                            : reply.status().message();
  if (!reply.ok() || !reply->is(Word::NotFound)) server_.reset();
}

// A note that is refused changes nothing else: it is the job that counts. The answer to the command
// says as well that the job is gone.
Result<wire::ClientReply> Runner::tell(const Job& job, const Command& command, std::string note) {
  const bool notes = !note.empty();
  if (notes) {
    const auto bytes = static_cast<uint32_t>(note.size());
    server_->add(NoteJob{.id = job.id, .bytes = bytes, .text = std::move(note)});
  }
  server_->add(command);
  if (notes) {
    Result<wire::ClientReply> noted = server_->receive();
    if (!noted.ok()) return noted;
    if (!noted->is(Word::Noted) && !noted->is(Word::NotFound)) {
      inlet_->wait();  // The line comes behind what the command has written.
      shared_.log({{"level", "warning"},
                   {"at", "work.no_note"},
                   {"job", job.id},
                   {"tube", job.tube},
                   {"error", unexpected(*noted, "note").message()}});
    }
  }
  return server_->receive();
}

Status Runner::wait_to_connect(Status failure) {
  const auto now = Clock::now();
  if (!away_since_) {
    away_since_ = now;
    pause_ = first_pause;
  }
  shared_.server_away(failure);
  if (settings_.retry && now - *away_since_ >= *settings_.retry) return failure;
  pollfd stopped{.fd = shared_.stop().finish_fd(), .events = POLLIN, .revents = 0};
  ::poll(&stopped, 1, static_cast<int>(pause_.count()));
  pause_ = std::min(pause_ * 2, longest_pause);
  return {};
}

Result<bool> Runner::wait_for_reply(milliseconds limit) {
  std::array<pollfd, 2> events = {
      {{.fd = server_->fd(), .events = POLLIN, .revents = 0},
       {.fd = shared_.stop().finish_fd(), .events = POLLIN, .revents = 0}}};
  const int count = ::poll(events.data(), events.size(), static_cast<int>(limit.count()));
  if (count < 0) return common::system_error("wait for a job");
  if (count == 0)
    return Status(StatusCode::Io, settings_.server.address + ": the server does not answer");
  return events[1].revents == 0;
}

}  // namespace perennial::tool::work
