// Judges replies: whether a correct server may send them, and what is known afterwards.

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

// The time until which a reservation that was made or extended at `at` certainly holds.
Millis held_until(Millis at, const Fact& fact) {
  return at + Millis{fact.ttr_s} * 1000 - clock_slack_ms;
}

Millis delayed_until(const Sent& sent) {
  return sent.at + Millis{sent.seconds} * 1000 - clock_slack_ms;
}

JobState state_of_peek(Verb verb) {
  if (verb == Verb::PeekReady) return JobState::Ready;
  return verb == Verb::PeekDelayed ? JobState::Delayed : JobState::Buried;
}

// "---\n- a\n- b\n"
std::set<std::string> names_in(std::string_view yaml) {
  std::set<std::string> names;
  for (size_t at = yaml.find("\n- "); at != std::string_view::npos; at = yaml.find("\n- ", at)) {
    at += 3;
    std::string_view name = yaml.substr(at, yaml.find('\n', at) - at);
    if (name.starts_with('"')) name = name.substr(1, name.size() - 2);
    names.emplace(name);
    --at;
  }
  return names;
}

}  // namespace

Status Load::on_reply(size_t index, std::string_view reply) {
  Connection& connection = connections_[index];
  if (!connection.sent)
    return {StatusCode::Corruption, fmt::format("a reply to nothing: {}", reply)};
  const Sent sent = std::move(*connection.sent);
  connection.sent.reset();
  ++answers_;
  ++done_[static_cast<size_t>(sent.verb)];
  const bool waits = sent.verb == Verb::Reserve || sent.verb == Verb::ReserveWait;
  if (!waits) latencies_ms_.push_back(static_cast<uint32_t>(now_ms() - sent.at));
  if (sent.job != nullptr) {
    sent.job->busy = false;
    ledger_.note(*sent.job,
                 fmt::format("conn {} reads: {}", index, reply.substr(0, reply.find("\r\n"))));
    const Place place = ledger_.fact(*sent.job).place;
    const bool is_known = ledger_.fact(*sent.job).version == sent.version && place != Place::Loose;
    judged_ += is_known ? 1 : 0;
  }
  return judge(index, sent, reply);
}

Status Load::expect(bool right, const Sent& sent, std::string_view reply) {
  if (right) return {};
  const std::string what = fmt::format("{} -> {}", sent.line, reply.substr(0, 300));
  return sent.job == nullptr ? Status(StatusCode::Corruption, what) : surprise(*sent.job, what);
}

Status Load::judge(size_t index, const Sent& sent, std::string_view reply) {
  const auto done = [&](std::string_view word, bool& is_done) {
    is_done = reply == word;
    return expect(is_done || reply == "NOT_FOUND\r\n", sent, reply);
  };
  bool is_done = false;
  switch (sent.verb) {
    case Verb::Put:
      return judge_put(sent, reply);
    case Verb::Reserve:
    case Verb::ReserveWait:
    case Verb::ReserveJob:
      return judge_reserve(index, sent, reply);
    case Verb::Delete:
      if (Status s = done("DELETED\r\n", is_done); !s.ok()) return s;
      return judge_delete(index, sent, is_done);
    case Verb::Release:
      if (Status s = done("RELEASED\r\n", is_done); !s.ok()) return s;
      return judge_held(index, sent, is_done);
    case Verb::Bury:
      if (Status s = done("BURIED\r\n", is_done); !s.ok()) return s;
      return judge_held(index, sent, is_done);
    case Verb::Touch:
      if (Status s = done("TOUCHED\r\n", is_done); !s.ok()) return s;
      return judge_held(index, sent, is_done);
    case Verb::KickJob:
      if (Status s = done("KICKED\r\n", is_done); !s.ok()) return s;
      return judge_kick_job(sent, is_done);
    case Verb::Kick:
      --ledger_.tube(sent.tube).kicks_in_flight;
      ledger_.tube(sent.tube).last_kick = ledger_.next_event();
      return expect(reply.starts_with("KICKED ") && first_number(reply) <= sent.number, sent,
                    reply);
    case Verb::Peek:
    case Verb::PeekReady:
    case Verb::PeekDelayed:
    case Verb::PeekBuried:
      return judge_peek(index, sent, reply);
    case Verb::StatsJob:
      return judge_stats_job(sent, reply);
    case Verb::Stats:
      return judge_stats(sent, reply);
    default:
      return judge_tubes(index, sent, reply);
  }
}

Status Load::judge_put(const Sent& sent, std::string_view reply) {
  Job& job = *sent.job;
  if (reply == "OUT_OF_MEMORY\r\n") {
    const bool is_new = ledger_.fact(job).version == sent.version;
    if (Status s = expect(refusals_allowed_ && is_new, sent, reply); !s.ok()) return s;
    ++ledger_.counts().puts_refused;
    ledger_.set(job, Place::Gone);
    return {};
  }
  if (Status s = expect(reply.starts_with("INSERTED "), sent, reply); !s.ok()) return s;
  if (Status s = ledger_.records().learn_id(job, first_number(reply)); !s.ok()) return s;
  const bool is_new = ledger_.fact(job).place == Place::Unsure;
  ledger_.seen(job);
  // Another client may have held the job already.
  if (!is_new) return {};
  if (sent.seconds == 0) ledger_.set(job, Place::Ready);
  if (sent.seconds > 0) ledger_.set(job, Place::Delayed, -1, delayed_until(sent), sent.event);
  return {};
}

Status Load::judge_reserve(size_t index, const Sent& sent, std::string_view reply) {
  if (reply.starts_with("RESERVED ")) return judge_reserved(index, sent, reply);
  if (sent.verb == Verb::ReserveJob) {
    const bool was_free = ledger_.fact(*sent.job).version == sent.version &&
                          !ledger_.may_be(*sent.job, JobState::Reserved);
    return expect(reply == "NOT_FOUND\r\n" && !was_free, sent, reply);
  }
  if (reply == "TIMED_OUT\r\n") return expect(sent.verb == Verb::ReserveWait, sent, reply);
  return expect(reply == "DEADLINE_SOON\r\n" && !connections_[index].held.empty(), sent, reply);
}

Status Load::judge_reserved(size_t index, const Sent& sent, std::string_view reply) {
  Job* const job = ledger_.records().find_by_body(body_in(reply));
  if (job == nullptr) return expect(false, sent, reply);
  if (sent.job != nullptr && sent.job != job) return surprise(*job, "came instead of another");
  if (Status s = ledger_.records().learn_id(*job, first_number(reply)); !s.ok()) return s;
  if (sent.job == nullptr)
    ledger_.note(*job,
                 fmt::format("conn {} reads: {} to {} sent {} ms ago", index,
                             reply.substr(0, reply.find("\r\n")), sent.line, now_ms() - sent.at));
  ledger_.seen(*job);
  const Fact& fact = ledger_.fact(*job);
  const Connection& connection = connections_[index];
  const bool is_by_id = sent.verb == Verb::ReserveJob;
  if (!is_by_id && !connection.watched.contains(job->tube))
    return surprise(*job, "is of a tube that is not watched");
  const bool was_free =
      is_by_id ? fact.place != Place::Gone && (fact.place != Place::Held || now_ms() >= fact.until)
               : ledger_.may_be(*job, JobState::Ready);
  // If the answer was late, the client's own reservation may be over and others may have held the
  // job since.
  const bool is_over = now_ms() >= held_until(sent.at, fact);
  if (!was_free && !is_over)
    return surprise(*job, fmt::format("was reserved while it was {}", place_name(fact.place)));
  if (fact.place == Place::Gone) return {};
  if (!was_free) {
    ledger_.set(*job, Place::Loose);
    return {};
  }
  expired_ += fact.place == Place::Held ? 1 : 0;
  ledger_.set(*job, Place::Held, static_cast<int>(index), held_until(sent.at, fact));
  ledger_.fact(*job).by_id = is_by_id;
  connections_[index].held.push_back(job);
  return {};
}

Status Load::judge_delete(size_t index, const Sent& sent, bool done) {
  Job& job = *sent.job;
  const Fact& fact = ledger_.fact(job);
  const bool is_mine = fact.holder == static_cast<int>(index);
  if (done) {
    ++ledger_.counts().deletes_done;
    const bool is_anothers = fact.place == Place::Held && !is_mine && now_ms() < fact.until;
    if (is_anothers) return surprise(job, "was deleted while another held it");
    ledger_.set(job, Place::Gone);
    return {};
  }
  ++ledger_.counts().deletes_missed;
  if (fact.version != sent.version) return {};
  const bool may_miss = fact.place == Place::Held && is_mine
                            ? now_ms() >= fact.until
                            : ledger_.may_be(job, JobState::Reserved);
  return may_miss ? Status() : surprise(job, "could not be deleted");
}

// Judges release, bury and touch by the holder of the job.
Status Load::judge_held(size_t index, const Sent& sent, bool done) {
  Job& job = *sent.job;
  const Fact& fact = ledger_.fact(job);
  if (!done) {
    const bool was_over = now_ms() >= sent.until;
    if (!was_over) return surprise(job, "was not held any more");
    if (fact.version == sent.version) ledger_.set(job, Place::Loose);
    return {};
  }
  if (fact.version != sent.version) {  // Another client has reserved it since.
    const bool was_kept = sent.verb == Verb::Touch && now_ms() < held_until(sent.at, fact);
    return was_kept ? surprise(job, "was touched while another held it") : Status();
  }
  if (sent.verb == Verb::Bury) ledger_.set(job, Place::Buried, -1, 0, sent.event);
  if (sent.verb == Verb::Touch) {
    const bool by_id = fact.by_id;
    ledger_.set(job, Place::Held, static_cast<int>(index), held_until(sent.at, fact));
    ledger_.fact(job).by_id = by_id;
  }
  if (sent.verb == Verb::Release && sent.seconds == 0) ledger_.set(job, Place::Ready);
  if (sent.verb == Verb::Release && sent.seconds > 0)
    ledger_.set(job, Place::Delayed, -1, delayed_until(sent), sent.event);
  return {};
}

Status Load::judge_kick_job(const Sent& sent, bool done) {
  Job& job = *sent.job;
  if (ledger_.fact(job).version != sent.version) return {};
  const bool may_be_kicked =
      ledger_.may_be(job, JobState::Buried) || ledger_.may_be(job, JobState::Delayed);
  const bool may_be_other =
      ledger_.may_be(job, JobState::Ready) || ledger_.may_be(job, JobState::Reserved);
  if (done ? !may_be_kicked : !may_be_other)
    return surprise(job, done ? "was kicked, and was not there to be" : "could not be kicked");
  if (done) ledger_.set(job, Place::Ready);
  return {};
}

Status Load::judge_peek(size_t index, const Sent& sent, std::string_view reply) {
  const bool found = reply.starts_with("FOUND ");
  if (!found && sent.job == nullptr) return expect(reply == "NOT_FOUND\r\n", sent, reply);
  if (!found)
    return expect(reply == "NOT_FOUND\r\n" && ledger_.fact(*sent.job).may_be_gone, sent, reply);
  Job* const job = ledger_.records().find_by_body(body_in(reply));
  if (job == nullptr) return expect(false, sent, reply);
  if (sent.job != nullptr && sent.job != job) return surprise(*job, "came instead of another");
  if (Status s = ledger_.records().learn_id(*job, first_number(reply)); !s.ok()) return s;
  ledger_.seen(*job);
  if (sent.job != nullptr) return {};
  ledger_.note(*job, fmt::format("conn {} finds it: {}", index, sent.line));
  // Facts that were established after the command was sent may be newer than the answer.
  const bool is_answered = ledger_.fact(*job).since < sent.event && !job->busy;
  const bool right =
      !is_answered || (job->tube == sent.tube && ledger_.may_be(*job, state_of_peek(sent.verb)));
  judged_ += is_answered ? 1 : 0;
  return right ? Status() : surprise(*job, fmt::format("was found by {}", sent.line));
}

Status Load::judge_stats_job(const Sent& sent, std::string_view reply) {
  Job& job = *sent.job;
  if (!reply.starts_with("OK "))
    return expect(reply == "NOT_FOUND\r\n" && ledger_.fact(job).may_be_gone, sent, reply);
  if (yaml_value(reply, "tube") != JobLedger::tube_name(job.tube))
    return surprise(job, "is in another tube");
  if (yaml_number(reply, "ttr") != ledger_.fact(job).ttr_s) return surprise(job, "has another ttr");
  if (ledger_.fact(job).version != sent.version) return {};
  for (JobState state :
       {JobState::Ready, JobState::Reserved, JobState::Delayed, JobState::Buried}) {
    if (yaml_value(reply, "state") != state_name(state)) continue;
    return ledger_.may_be(job, state) ? Status()
                                      : surprise(job, "is in a state that it cannot have");
  }
  return expect(false, sent, reply);
}

// The sum must be the puts minus the deletes, within the commands in flight.
Status Load::judge_stats(const Sent& sent, std::string_view reply) {
  uint64_t jobs = 0;
  for (const char* state : {"ready", "reserved", "delayed", "buried"})
    jobs += yaml_number(reply, fmt::format("current-jobs-{}", state));
  const Counts& then = sent.counts;
  const Counts& now = ledger_.counts();
  const uint64_t least = then.puts_done - (now.deletes_sent - then.deletes_missed);
  const uint64_t most = now.puts_sent - then.puts_refused - then.deletes_done;
  const bool is_between = static_cast<int64_t>(jobs) >= static_cast<int64_t>(least) && jobs <= most;
  return expect(
      is_between, sent,
      fmt::format("{} jobs, and not from {} to {}", jobs, static_cast<int64_t>(least), most));
}

Status Load::judge_tubes(size_t index, const Sent& sent, std::string_view reply) {
  Connection& connection = connections_[index];
  const std::string name = JobLedger::tube_name(sent.tube);
  switch (sent.verb) {
    case Verb::Use:
      connection.used = sent.tube;
      return expect(reply == fmt::format("USING {}\r\n", name), sent, reply);
    case Verb::ListTubeUsed:
      return expect(reply == fmt::format("USING {}\r\n", JobLedger::tube_name(connection.used)),
                    sent, reply);
    case Verb::Watch:
      connection.watched.insert(sent.tube);
      return expect(reply == fmt::format("WATCHING {}\r\n", connection.watched.size()), sent,
                    reply);
    case Verb::Ignore:
      if (connection.watched.size() == 1) return expect(reply == "NOT_IGNORED\r\n", sent, reply);
      connection.watched.erase(sent.tube);
      return expect(reply == fmt::format("WATCHING {}\r\n", connection.watched.size()), sent,
                    reply);
    case Verb::ListTubesWatched: {
      std::set<std::string> wanted;
      for (size_t tube : connection.watched) wanted.insert(JobLedger::tube_name(tube));
      return expect(names_in(reply) == wanted, sent, reply);
    }
    case Verb::ListTubes: {
      const std::set<std::string> names = names_in(reply);
      bool right =
          names.contains("default") && names.contains(JobLedger::tube_name(connection.used));
      for (size_t tube : connection.watched) right &= names.contains(JobLedger::tube_name(tube));
      return expect(right, sent, reply);
    }
    case Verb::StatsTube: {
      const bool is_there = reply.starts_with("OK ") && yaml_value(reply, "name") == name;
      const bool must_be = connection.watched.contains(sent.tube) || connection.used == sent.tube;
      return expect(is_there || (reply == "NOT_FOUND\r\n" && !must_be), sent, reply);
    }
    default:
      return expect(reply == "PAUSED\r\n" || reply == "NOT_FOUND\r\n", sent, reply);
  }
}

}  // namespace perennial::soak
