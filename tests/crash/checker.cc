#include "tests/crash/checker.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/types/note.h"
#include "tests/support/reply_text.h"
#include "wire/client.h"

namespace perennial::crash {

using support::body_in;
using support::long_s;
using support::Outcome;
using support::surprise;
using support::Tube;
using support::yaml_number;
using support::yaml_value;

namespace {

constexpr size_t jobs_per_round = 200;

Status corrupt(std::string message) {
  return Status(StatusCode::Corruption, std::move(message));
}

bool parse_state(std::string_view name, JobState& out) {
  for (JobState state :
       {JobState::Ready, JobState::Reserved, JobState::Delayed, JobState::Buried}) {
    if (state_name(state) != name) continue;
    out = state;
    return true;
  }
  return false;
}

}  // namespace

Status Checker::check(const support::ServerProcess& server) {
  support::ClientSocket client = server.connect();
  found_ = notes_found_ = 0;
  states_ = {};
  delays_ending_ = 0;
  in_tube_.assign(ledger_.tubes().size(), 0);
  if (Status s = adopt_unanswered(client, unanswered_puts()); !s.ok()) return s;
  if (Status s = probe(client); !s.ok()) return s;
  if (Status s = await_burials(client); !s.ok()) return s;
  if (Status s = walk(client); !s.ok()) return s;
  for (size_t index = 0; index < ledger_.tubes().size(); ++index)
    if (Status s = check_tube(client, index); !s.ok()) return s;
  return check_sums(client);
}

size_t Checker::unanswered_puts() {
  return static_cast<size_t>(std::ranges::count_if(
      ledger_.jobs(), [](const Job& job) { return job.id == 0 && job.outcomes.size() > 1; }));
}

Status Checker::adopt_unanswered(support::ClientSocket& client, size_t unanswered) {
  const JobId last = ledger_.highest_id() + unanswered;
  for (JobId id = checked_to_ + 1; id <= last; ++id) {
    if (ledger_.find(id) != nullptr) continue;
    Result<std::string> reply = client.ask(fmt::format("peek {}\r\n", id));
    if (!reply.ok()) return reply.take_status();
    if (*reply == "NOT_FOUND\r\n") continue;
    Job* job = reply->starts_with("FOUND ") ? ledger_.find_by_body(body_in(*reply)) : nullptr;
    if (job == nullptr) return corrupt(fmt::format("id {} was never sent: {}", id, *reply));
    if (Status s = ledger_.learn_id(*job, id); !s.ok()) return s;
  }
  return {};
}

// A put after the crash must receive a new id, and a delete after it must succeed.
Status Checker::probe(support::ClientSocket& client) {
  Result<std::string> reply = client.ask("put 0 0 1 5\r\nprobe\r\n");
  if (!reply.ok()) return reply.take_status();
  JobId id = 0;
  constexpr std::string_view head = "INSERTED ";
  if (reply->starts_with(head))
    std::from_chars(reply->data() + head.size(), reply->data() + reply->size(), id);
  if (id == 0) return corrupt("a put after the crash: " + *reply);
  if (Status s = ledger_.use_id(id); !s.ok()) return s;
  checked_to_ = ledger_.highest_id();
  reply = client.ask(fmt::format("delete {}\r\n", id));
  if (!reply.ok()) return reply.take_status();
  return *reply == "DELETED\r\n" ? Status() : corrupt("a delete after the crash: " + *reply);
}

Status Checker::await_burials(support::ClientSocket& client) {
  for (Job& job : ledger_.jobs()) {
    if (!job.is_damaged || !job.live.exists) continue;
    const Result<std::string> peeked = client.ask(fmt::format("peek {}\r\n", job.id));
    if (!peeked.ok()) return peeked.status();
    if (*peeked != "INTERNAL_ERROR\r\n") return surprise(job, "has a body, and was damaged");
    std::string state;
    for (int tries = 0; tries < 500 && state != "buried"; ++tries) {
      if (tries > 0) ::usleep(10'000);
      const Result<std::string> stats = client.ask(fmt::format("stats-job {}\r\n", job.id));
      if (!stats.ok()) return stats.status();
      state = yaml_value(*stats, "state");
    }
    if (state != "buried") return surprise(job, "was damaged, and is not buried");
    job.live.state = JobState::Buried;
  }
  return {};
}

Status Checker::walk(support::ClientSocket& client) {
  std::vector<Job*> round;
  for (Job& job : ledger_.jobs()) {
    if (job.id != 0) round.push_back(&job);
    // Not answered and not found above, so it does not exist.
    if (job.id == 0) job.outcomes = {Outcome{}};
    if (round.size() < jobs_per_round) continue;
    if (Status s = check_some(client, round); !s.ok()) return s;
    round.clear();
  }
  return check_some(client, round);
}

Status Checker::check_some(support::ClientSocket& client, const std::vector<Job*>& jobs) {
  std::string lines;
  const auto has_notes = [](const Job& job) {
    return !job.notes.empty() || !job.sent_note.empty();
  };
  for (const Job* job : jobs) {
    lines += fmt::format("peek {0}\r\nstats-job {0}\r\n", job->id);
    if (has_notes(*job)) lines += fmt::format("list-notes {}\r\n", job->id);
  }
  if (Status s = client.send(lines); !s.ok()) return s;
  for (Job* job : jobs) {
    Result<std::string> peeked = client.read_reply();
    if (!peeked.ok()) return peeked.take_status().with("peek");
    Result<std::string> stats = client.read_reply();
    if (!stats.ok()) return stats.take_status().with("stats-job");
    Result<std::string> notes = std::string();
    if (has_notes(*job)) notes = client.read_reply();
    if (!notes.ok()) return notes.take_status().with("list-notes");
    if (Status s = check_job(*job, *peeked, *stats); !s.ok()) return s;
    if (!has_notes(*job)) continue;
    if (Status s = check_notes(*job, *stats, *notes); !s.ok()) return s;
  }
  return {};
}

Status Checker::check_job(Job& job, std::string_view peeked, std::string_view stats) {
  Outcome seen;
  const bool is_lost = job.is_damaged && job.live.exists && peeked == "INTERNAL_ERROR\r\n";
  seen.exists = is_lost || peeked.starts_with("FOUND ");
  if (seen.exists != stats.starts_with("OK ")) return surprise(job, "is half there");
  if (seen.exists) {
    if (!is_lost && body_in(peeked) != ledger_.body(job)) return surprise(job, "has another body");
    if (yaml_value(stats, "tube") != ledger_.tubes()[job.tube].name)
      return surprise(job, "is in another tube");
    if (!parse_state(yaml_value(stats, "state"), seen.state)) return surprise(job, "has no state");
    seen.priority = static_cast<uint32_t>(yaml_number(stats, "pri"));
    if (seen.state == JobState::Delayed)
      seen.delay_s = yaml_number(stats, "time-left") < long_s / 2 ? 1 : long_s;
    ++found_;
    ++in_tube_[job.tube];
    ++states_[static_cast<size_t>(seen.state)];
    delays_ending_ += seen.state == JobState::Delayed && seen.delay_s < long_s ? 1 : 0;
  }
  // The server decides what a burial leaves of its priority.
  if (is_lost)
    job.outcomes = {{.exists = true, .state = JobState::Buried, .priority = seen.priority}};
  const bool allowed = std::ranges::any_of(job.outcomes, [&seen](const Outcome& outcome) {
    return seen.exists ? outcome.allows(seen.state, seen.priority) : !outcome.exists;
  });
  if (!allowed) return surprise(job, "came back as " + describe(seen));
  if (job.outcomes.size() > 1) job.history.push_back("after the crash: " + describe(seen));
  job.live = seen;
  job.outcomes = {seen};
  return {};
}

// The notes are those that were acknowledged, and perhaps the one that was not answered.
Status Checker::check_notes(Job& job, std::string_view stats, std::string_view listed) {
  const std::string sent = std::exchange(job.sent_note, {});
  if (!job.live.exists) {
    return listed == "NOT_FOUND\r\n" ? Status() : surprise(job, "is gone, and has notes");
  }
  const uint64_t count = yaml_number(stats, "notes");
  if (count == job.notes.size() + 1 && !sent.empty()) job.notes.push_back(sent);
  if (count != job.notes.size()) return surprise(job, fmt::format("counts {} notes", count));
  const auto found = wire::parse_notes(body_in(listed));
  if (!found) return surprise(job, fmt::format("has unreadable notes: {}", listed));
  if (found->size() != std::min<size_t>(count, notes_max))
    return surprise(job, fmt::format("shows {} notes of {}", found->size(), count));
  for (const wire::ToldNote& note : *found) {
    const bool is_known = 0 < note.number && note.number <= count;
    if (!is_known || note.text != job.notes[note.number - 1])
      return surprise(job, fmt::format("has another note {}: {}", note.number, note.text));
  }
  notes_found_ += found->size();
  return {};
}

// A long pause lasts as long as its tube, and a tube lasts as long as it has jobs.
Status Checker::check_tube(support::ClientSocket& client, size_t index) {
  Tube& tube = ledger_.tubes()[index];
  Result<std::string> stats = client.ask(fmt::format("stats-tube {}\r\n", tube.name));
  if (!stats.ok()) return stats.take_status();
  const bool exists = stats->starts_with("OK ");
  if (!exists && in_tube_[index] > 0) return corrupt(tube.name + " has jobs and is not there");
  const bool paused = exists && yaml_number(*stats, "pause-time-left", 0) > 0;
  const uint32_t seen = paused ? long_s : 0;
  const bool allowed = std::ranges::find(tube.pauses, seen) != tube.pauses.end();
  const bool may_have_ended = in_tube_[index] == 0 && !paused;
  if (pauses_persist_ && !allowed && !may_have_ended)
    return corrupt(fmt::format("tube {} came back {}", tube.name, paused ? "paused" : "running"));
  tube.pauses = {seen};
  return {};
}

Status Checker::check_sums(support::ClientSocket& client) {
  Result<std::string> stats = client.ask("stats\r\n");
  if (!stats.ok()) return stats.take_status();
  const auto jobs = [&stats](JobState state) {
    return yaml_number(*stats, fmt::format("current-jobs-{}", state_name(state)));
  };
  const auto walked = [this](JobState state) { return states_[static_cast<size_t>(state)]; };
  const uint64_t ready = jobs(JobState::Ready);
  const bool moved_by_time_only =
      walked(JobState::Ready) <= ready && ready <= walked(JobState::Ready) + delays_ending_;
  const uint64_t sum = ready + jobs(JobState::Delayed) + jobs(JobState::Buried);
  const bool agree = jobs(JobState::Reserved) == 0 && moved_by_time_only && sum == found_ &&
                     jobs(JobState::Buried) == walked(JobState::Buried);
  if (agree) return {};
  return corrupt(fmt::format("found {} jobs, {} ready, {} buried, but: {}", found_,
                             walked(JobState::Ready), walked(JobState::Buried), *stats));
}

}  // namespace perennial::crash
