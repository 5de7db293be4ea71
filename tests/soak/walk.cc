#include "tests/soak/walk.h"

#include <fmt/format.h>

#include "tests/soak/load.h"
#include "tests/support/reply_text.h"

namespace perennial::soak {
namespace {

using support::body_in;
using support::first_number;
using support::surprise;
using support::yaml_number;
using support::yaml_value;

constexpr size_t jobs_per_round = 200;

Status corrupt(std::string what) {
  return {StatusCode::Corruption, std::move(what)};
}

// A restart releases reserved jobs. A job that was reserved by its id may be in its earlier state.
bool may_come_back(JobLedger& ledger, const Job& job, JobState state) {
  const Fact& fact = ledger.fact(job);
  if (state == JobState::Reserved) return false;
  if (fact.place == Place::Held) return state == JobState::Ready || fact.by_id;
  return ledger.may_be(job, state);
}

Status check_job(JobLedger& ledger, Job& job, std::string_view peeked, std::string_view stats) {
  Fact& fact = ledger.fact(job);
  const bool found = peeked.starts_with("FOUND ");
  if (found != stats.starts_with("OK ")) return surprise(job, "is half there");
  if (!found && !fact.may_be_gone) return surprise(job, "is missing after a restart");
  if (fact.may_be_gone) ++(found ? ledger.counts().deletes_missed : ledger.counts().deletes_done);
  fact.may_be_gone = false;
  if (!found) {
    ledger.set(job, Place::Gone);
    return {};
  }
  if (body_in(peeked) != ledger.records().body(job)) return surprise(job, "has another body");
  if (yaml_value(stats, "tube") != JobLedger::tube_name(job.tube))
    return surprise(job, "is in another tube");
  const std::string_view state = yaml_value(stats, "state");
  const Millis left_ms = static_cast<Millis>(yaml_number(stats, "time-left")) * 1000;
  ledger.note(job, fmt::format("after a restart: {}", state));
  constexpr std::array<std::pair<JobState, Place>, 3> places = {{
      {JobState::Ready, Place::Ready},
      {JobState::Delayed, Place::Delayed},
      {JobState::Buried, Place::Buried},
  }};
  for (const auto& [seen, place] : places) {
    if (state != state_name(seen)) continue;
    if (!may_come_back(ledger, job, seen)) break;
    ledger.set(job, place, -1, now_ms() + left_ms - clock_slack_ms);
    return {};
  }
  return surprise(job, fmt::format("came back {}, and was {}", state, place_name(fact.place)));
}

Status check_some(JobLedger& ledger, support::ClientSocket& client, const std::vector<Job*>& jobs) {
  std::string lines;
  for (const Job* job : jobs) lines += fmt::format("peek {0}\r\nstats-job {0}\r\n", job->id);
  if (Status s = client.send(lines); !s.ok()) return s;
  for (Job* job : jobs) {
    Result<std::string> peeked = client.read_reply();
    if (!peeked.ok()) return peeked.take_status().with("peek");
    Result<std::string> stats = client.read_reply();
    if (!stats.ok()) return stats.take_status().with("stats-job");
    if (Status s = check_job(ledger, *job, *peeked, *stats); !s.ok()) return s;
  }
  return {};
}

// Jobs whose puts were not answered may exist, too.
Status check_count(JobLedger& ledger, support::ClientSocket& client, size_t found) {
  size_t unsure = 0;
  for (size_t serial : ledger.present())
    unsure += ledger.fact(ledger.job(serial)).place == Place::Unsure ? 1 : 0;
  Result<std::string> stats = client.ask("stats\r\n");
  if (!stats.ok()) return stats.take_status();
  size_t jobs = 0;
  for (const char* state : {"ready", "reserved", "delayed", "buried"})
    jobs += yaml_number(*stats, fmt::format("current-jobs-{}", state));
  if (found <= jobs && jobs <= found + unsure) return {};
  return corrupt(fmt::format("it has {} jobs, and {} are known, {} unsure", jobs, found, unsure));
}

// Ends pauses and delays, and kicks buried jobs.
Status free_all(JobLedger& ledger, support::ClientSocket& client) {
  for (size_t tube = 0; tube < ledger.tubes_count(); ++tube) {
    const std::string name = JobLedger::tube_name(tube);
    std::string lines = fmt::format("watch {0}\r\nuse {0}\r\npause-tube {0} 0\r\n", name);
    // The first kicks buried jobs, the second delayed ones.
    lines += "kick 1000000\r\nkick 1000000\r\n";
    if (Status s = client.send(lines); !s.ok()) return s;
    for (int replies = 0; replies < 5; ++replies) {
      Result<std::string> reply = client.read_reply();
      if (!reply.ok()) return reply.take_status().with("kick all");
    }
  }
  return {};
}

// Reserves some of the ready jobs at once, judges them, and deletes them at once.
Status drain_some(JobLedger& ledger, support::ClientSocket& client, std::vector<Job*>& taken) {
  taken.clear();
  std::string lines;
  for (size_t i = 0; i < jobs_per_round; ++i) lines += "reserve-with-timeout 0\r\n";
  if (Status s = client.send(lines); !s.ok()) return s;
  for (size_t i = 0; i < jobs_per_round; ++i) {
    Result<std::string> reply = client.read_reply();
    if (!reply.ok()) return reply.take_status().with("reserve");
    if (*reply == "TIMED_OUT\r\n") continue;
    Job* const job = ledger.records().find_by_body(body_in(*reply));
    if (job == nullptr) return corrupt("nobody's job: " + reply->substr(0, 100));
    if (ledger.fact(*job).place == Place::Gone) return surprise(*job, "came back");
    if (Status s = ledger.records().learn_id(*job, first_number(*reply)); !s.ok()) return s;
    ledger.seen(*job);
    taken.push_back(job);
  }
  lines.clear();
  for (const Job* job : taken) lines += fmt::format("delete {}\r\n", job->id);
  if (Status s = client.send(lines); !s.ok()) return s;
  for (Job* job : taken) {
    Result<std::string> reply = client.read_reply();
    if (!reply.ok()) return reply.take_status().with("delete");
    if (*reply != "DELETED\r\n") return surprise(*job, "could not be deleted: " + *reply);
    ++ledger.counts().deletes_done;
    ledger.set(*job, Place::Gone);
  }
  return {};
}

}  // namespace

Status check_all(JobLedger& ledger, support::ClientSocket& client, size_t& found) {
  std::deque<size_t>& present = ledger.present();
  std::erase_if(
      present, [&](size_t serial) { return ledger.fact(ledger.job(serial)).place == Place::Gone; });
  std::vector<Job*> round;
  for (size_t serial : present) {
    Job& job = ledger.job(serial);
    job.busy = false;
    if (job.id == 0) continue;
    round.push_back(&job);
    if (round.size() < jobs_per_round) continue;
    if (Status s = check_some(ledger, client, round); !s.ok()) return s;
    round.clear();
  }
  if (Status s = check_some(ledger, client, round); !s.ok()) return s;
  found = 0;
  for (size_t serial : present) {
    const Place place = ledger.fact(ledger.job(serial)).place;
    found += place != Place::Gone && place != Place::Unsure ? 1 : 0;
  }
  return check_count(ledger, client, found);
}

Status drain(JobLedger& ledger, support::ClientSocket& client, size_t& drained) {
  if (Status s = free_all(ledger, client); !s.ok()) return s;
  drained = 0;
  std::vector<Job*> taken;
  do {
    if (Status s = drain_some(ledger, client, taken); !s.ok()) return std::move(s).with("drain");
    drained += taken.size();
  } while (!taken.empty());
  for (size_t serial : ledger.present()) {
    const Job& job = ledger.job(serial);
    const Place place = ledger.fact(job).place;
    if (place != Place::Gone && place != Place::Unsure) return surprise(job, "was lost");
  }
  Result<std::string> stats = client.ask("stats\r\n");
  if (!stats.ok()) return stats.take_status();
  for (const char* state : {"ready", "reserved", "delayed", "buried"})
    if (yaml_number(*stats, fmt::format("current-jobs-{}", state)) != 0)
      return corrupt("drained, and not empty: " + *stats);
  const Counts& counts = ledger.counts();
  if (counts.puts_done == counts.deletes_done) return {};
  return corrupt(fmt::format("{} jobs put, {} deleted", counts.puts_done, counts.deletes_done));
}

}  // namespace perennial::soak
