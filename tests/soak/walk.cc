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

// A restart frees what was held. A job that was held by its id may have its state of before.
bool may_come_back(Book& book, const Job& job, JobState state) {
  const Fact& fact = book.fact(job);
  if (state == JobState::Reserved) return false;
  if (fact.place == Place::Held) return state == JobState::Ready || fact.by_id;
  return book.may_be(job, state);
}

Status check_job(Book& book, Job& job, std::string_view peeked, std::string_view stats) {
  Fact& fact = book.fact(job);
  const bool found = peeked.starts_with("FOUND ");
  if (found != stats.starts_with("OK ")) return surprise(job, "is half there");
  if (!found && !fact.may_be_gone) return surprise(job, "is missing after a restart");
  if (fact.may_be_gone) ++(found ? book.counts().deletes_missed : book.counts().deletes_done);
  fact.may_be_gone = false;
  if (!found) {
    book.set(job, Place::Gone);
    return {};
  }
  if (body_in(peeked) != book.ledger().body(job)) return surprise(job, "has another body");
  if (yaml_value(stats, "tube") != Book::tube_name(job.tube))
    return surprise(job, "is in another tube");
  const std::string_view state = yaml_value(stats, "state");
  const Millis left_ms = static_cast<Millis>(yaml_number(stats, "time-left")) * 1000;
  book.note(job, fmt::format("after a restart: {}", state));
  constexpr std::array<std::pair<JobState, Place>, 3> places = {{
      {JobState::Ready, Place::Ready},
      {JobState::Delayed, Place::Delayed},
      {JobState::Buried, Place::Buried},
  }};
  for (const auto& [seen, place] : places) {
    if (state != state_name(seen)) continue;
    if (!may_come_back(book, job, seen)) break;
    book.set(job, place, -1, now_ms() + left_ms - clock_slack_ms);
    return {};
  }
  return surprise(job, fmt::format("came back {}, and was {}", state, place_name(fact.place)));
}

Status check_some(Book& book, support::ClientSocket& client, const std::vector<Job*>& jobs) {
  std::string lines;
  for (const Job* job : jobs) lines += fmt::format("peek {0}\r\nstats-job {0}\r\n", job->id);
  if (Status s = client.send(lines); !s.ok()) return s;
  for (Job* job : jobs) {
    Result<std::string> peeked = client.read_reply();
    if (!peeked.ok()) return peeked.take_status().with("peek");
    Result<std::string> stats = client.read_reply();
    if (!stats.ok()) return stats.take_status().with("stats-job");
    if (Status s = check_job(book, *job, *peeked, *stats); !s.ok()) return s;
  }
  return {};
}

// Those whose puts were not answered may be there, too.
Status check_count(Book& book, support::ClientSocket& client, size_t found) {
  size_t unsure = 0;
  for (size_t serial : book.present())
    unsure += book.fact(book.job(serial)).place == Place::Unsure ? 1 : 0;
  Result<std::string> stats = client.ask("stats\r\n");
  if (!stats.ok()) return stats.take_status();
  size_t jobs = 0;
  for (const char* state : {"ready", "reserved", "delayed", "buried"})
    jobs += yaml_number(*stats, fmt::format("current-jobs-{}", state));
  if (found <= jobs && jobs <= found + unsure) return {};
  return corrupt(fmt::format("it has {} jobs, and {} are known, {} unsure", jobs, found, unsure));
}

// Ends pauses and delays, and unburies.
Status free_all(Book& book, support::ClientSocket& client) {
  for (size_t tube = 0; tube < book.tubes_count(); ++tube) {
    const std::string name = Book::tube_name(tube);
    std::string lines = fmt::format("watch {0}\r\nuse {0}\r\npause-tube {0} 0\r\n", name);
    lines += "kick 1000000\r\nkick 1000000\r\n";  // Buried ones first; delayed ones, when there are
                                                  // none.
    if (Status s = client.send(lines); !s.ok()) return s;
    for (int replies = 0; replies < 5; ++replies) {
      Result<std::string> reply = client.read_reply();
      if (!reply.ok()) return reply.take_status().with("kick all");
    }
  }
  return {};
}

// Some of the ready jobs: reserved all at once, judged, and then deleted all at once.
Status drain_some(Book& book, support::ClientSocket& client, std::vector<Job*>& taken) {
  taken.clear();
  std::string lines;
  for (size_t i = 0; i < jobs_per_round; ++i) lines += "reserve-with-timeout 0\r\n";
  if (Status s = client.send(lines); !s.ok()) return s;
  for (size_t i = 0; i < jobs_per_round; ++i) {
    Result<std::string> reply = client.read_reply();
    if (!reply.ok()) return reply.take_status().with("reserve");
    if (*reply == "TIMED_OUT\r\n") continue;
    Job* const job = book.ledger().find_by_body(body_in(*reply));
    if (job == nullptr) return corrupt("nobody's job: " + reply->substr(0, 100));
    if (book.fact(*job).place == Place::Gone) return surprise(*job, "came back");
    if (Status s = book.ledger().learn_id(*job, first_number(*reply)); !s.ok()) return s;
    book.seen(*job);
    taken.push_back(job);
  }
  lines.clear();
  for (const Job* job : taken) lines += fmt::format("delete {}\r\n", job->id);
  if (Status s = client.send(lines); !s.ok()) return s;
  for (Job* job : taken) {
    Result<std::string> reply = client.read_reply();
    if (!reply.ok()) return reply.take_status().with("delete");
    if (*reply != "DELETED\r\n") return surprise(*job, "could not be deleted: " + *reply);
    ++book.counts().deletes_done;
    book.set(*job, Place::Gone);
  }
  return {};
}

}  // namespace

Status check_all(Book& book, support::ClientSocket& client, size_t& found) {
  std::deque<size_t>& present = book.present();
  std::erase_if(present,
                [&](size_t serial) { return book.fact(book.job(serial)).place == Place::Gone; });
  std::vector<Job*> round;
  for (size_t serial : present) {
    Job& job = book.job(serial);
    job.busy = false;
    if (job.id == 0) continue;
    round.push_back(&job);
    if (round.size() < jobs_per_round) continue;
    if (Status s = check_some(book, client, round); !s.ok()) return s;
    round.clear();
  }
  if (Status s = check_some(book, client, round); !s.ok()) return s;
  found = 0;
  for (size_t serial : present) {
    const Place place = book.fact(book.job(serial)).place;
    found += place != Place::Gone && place != Place::Unsure ? 1 : 0;
  }
  return check_count(book, client, found);
}

Status drain(Book& book, support::ClientSocket& client, size_t& drained) {
  if (Status s = free_all(book, client); !s.ok()) return s;
  drained = 0;
  std::vector<Job*> taken;
  do {
    if (Status s = drain_some(book, client, taken); !s.ok()) return std::move(s).with("drain");
    drained += taken.size();
  } while (!taken.empty());
  for (size_t serial : book.present()) {
    const Job& job = book.job(serial);
    const Place place = book.fact(job).place;
    if (place != Place::Gone && place != Place::Unsure) return surprise(job, "was lost");
  }
  Result<std::string> stats = client.ask("stats\r\n");
  if (!stats.ok()) return stats.take_status();
  for (const char* state : {"ready", "reserved", "delayed", "buried"})
    if (yaml_number(*stats, fmt::format("current-jobs-{}", state)) != 0)
      return corrupt("drained, and not empty: " + *stats);
  const Counts& counts = book.counts();
  if (counts.puts_done == counts.deletes_done) return {};
  return corrupt(fmt::format("{} jobs put, {} deleted", counts.puts_done, counts.deletes_done));
}

}  // namespace perennial::soak
