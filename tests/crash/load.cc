#include "tests/crash/load.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <poll.h>

#include "tests/support/reply_text.h"

namespace perennial::crash {

using support::describe;
using support::first_number;
using support::long_s;
using support::surprise;
using support::Tube;

namespace {

constexpr size_t connections_count = 8;
constexpr size_t in_flight_max = 4;
constexpr size_t present_jobs_aim = 1500;
constexpr uint32_t reopen_one_in = 2000;
constexpr uint32_t aims_max = 12;

struct Share {
  Verb verb;
  uint32_t weight;
};
constexpr std::array shares = {
    Share{Verb::Put, 30},     Share{Verb::Reserve, 25}, Share{Verb::ReserveJob, 3},
    Share{Verb::Release, 12}, Share{Verb::Bury, 8},     Share{Verb::Touch, 2},
    Share{Verb::KickJob, 5},  Share{Verb::Kick, 1},     Share{Verb::Delete, 20},
    Share{Verb::Pause, 1},    Share{Verb::Note, 6},
};

Verb pick_verb(std::minstd_rand& random) {
  uint32_t total = 0;
  for (const Share& share : shares) total += share.weight;
  uint32_t left = static_cast<uint32_t>(random() % total);
  for (const Share& share : shares) {
    if (left < share.weight) return share.verb;
    left -= share.weight;
  }
  return Verb::Put;
}

std::string_view success_word(Verb verb) {
  switch (verb) {
    case Verb::Put:
      return "INSERTED";
    case Verb::Reserve:
    case Verb::ReserveJob:
      return "RESERVED";
    case Verb::Release:
      return "RELEASED";
    case Verb::Bury:
      return "BURIED";
    case Verb::Touch:
      return "TOUCHED";
    case Verb::KickJob:
    case Verb::Kick:
      return "KICKED";
    case Verb::Delete:
      return "DELETED";
    case Verb::Pause:
      return "PAUSED";
    case Verb::Note:
      return "NOTED";
  }
  return {};
}

Outcome becomes(JobState state, uint32_t priority, uint32_t delay_s = 0) {
  return {.exists = true, .state = state, .priority = priority, .delay_s = delay_s};
}

// Whether another client's reserve may take this job at any moment.
bool may_be_reserved(const Job& job) {
  const bool delay_may_end = job.live.state == JobState::Delayed && job.live.delay_s < long_s;
  return job.live.state == JobState::Ready || delay_may_end;
}

}  // namespace

Status Load::open(const support::ServerProcess& server) {
  address_ = server.address();
  present_.clear();
  for (Job& job : ledger_.jobs())
    if (job.live.exists) present_.push_back(&job);
  connections_.clear();
  connections_.resize(connections_count);
  for (size_t index = 0; index < connections_.size(); ++index)
    if (Status s = start(connections_[index], index); !s.ok()) return s;
  return {};
}

Status Load::start(Connection& connection, size_t index) {
  Result<support::ClientSocket> socket = support::ClientSocket::connect(address_);
  if (!socket.ok()) return socket.take_status();
  connection.socket = socket.take();
  const std::vector<Tube>& tubes = ledger_.tubes();
  std::string lines = fmt::format("use {}\r\n", tubes[index % tubes.size()].name);
  for (const Tube& tube : tubes) lines += fmt::format("watch {}\r\n", tube.name);
  if (Status s = connection.socket.send(lines); !s.ok()) return s;
  for (size_t replies = 0; replies < tubes.size() + 1; ++replies) {
    Result<std::string> reply = connection.socket.read_reply();
    if (!reply.ok()) return reply.take_status().with("use and watch");
  }
  return {};
}

Status Load::run_for(int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  std::vector<pollfd> waiting(connections_.size());
  while (std::chrono::steady_clock::now() < end) {
    for (size_t index = 0; index < connections_.size(); ++index) {
      if (Status s = send_some(index); !s.ok()) return s;
      waiting[index] = {.fd = connections_[index].socket.fd(), .events = POLLIN, .revents = 0};
    }
    ::poll(waiting.data(), waiting.size(), 1);
    for (size_t index = 0; index < connections_.size(); ++index) {
      bool ended = false;
      if (waiting[index].revents == 0) continue;
      if (Status s = read_some(index, 0, ended); !s.ok()) return s;
      if (ended) return Status(StatusCode::Io, "the server closed a connection by itself");
    }
  }
  return {};
}

Status Load::drain_replies() {
  for (size_t index = 0; index < connections_.size(); ++index) {
    bool ended = false;
    while (!ended)
      if (Status s = read_some(index, support::reply_timeout_ms, ended); !s.ok()) return s;
  }
  for (Connection& connection : connections_)
    for (const Sent& sent : connection.sent) on_lost(sent);
  for (Job* job : present_) {
    job->busy = false;
    job->holder = -1;
  }
  for (Tube& tube : ledger_.tubes()) tube.kicking = false;
  connections_.clear();
  return {};
}

// ---- Commands to send.

Status Load::send_some(size_t index) {
  Connection& connection = connections_[index];
  if (connection.sent.empty() && pick(reopen_one_in) == 0) return reopen(index);
  while (connection.sent.size() < in_flight_max) {
    Sent sent{};
    if (!choose(index, sent)) return {};
    if (Status s = send(index, std::move(sent)); !s.ok()) return s;
  }
  return {};
}

bool Load::choose(size_t index, Sent& out) {
  out.verb = pick_verb(random_);
  out.tube = index % ledger_.tubes().size();
  switch (out.verb) {
    case Verb::Put:
      return choose_put(out);
    case Verb::Reserve:
      out.line = "reserve-with-timeout 0";
      return true;
    case Verb::Kick:
      return choose_kick(out);
    case Verb::Pause:
      return choose_pause(out);
    case Verb::Note:
      return choose_note(out);
    case Verb::Release:
    case Verb::Bury:
    case Verb::Touch:
      return choose_holders(index, out);
    case Verb::ReserveJob:
    case Verb::KickJob:
      return choose_anyones(out);
    case Verb::Delete:
      return pick(2) == 0 ? choose_holders(index, out) : choose_anyones(out);
  }
  return false;
}

bool Load::choose_put(Sent& out) {
  const bool enough = present_.size() > present_jobs_aim;
  if (enough && pick(8) != 0) return false;
  out.job = &ledger_.add_job(out.tube);
  present_.push_back(out.job);
  const uint32_t delay = pick_delay();
  out.after = becomes(delay > 0 ? JobState::Delayed : JobState::Ready, pick_priority(), delay);
  out.line = fmt::format("put {} {} {} {}", out.after.priority, delay, long_s,
                         ledger_.body(*out.job).size());
  return true;
}

bool Load::choose_holders(size_t index, Sent& out) {
  out.job = pick_job([index](const Job& job) { return job.holder == static_cast<int>(index); });
  if (out.job == nullptr) return false;
  const JobId id = out.job->id;
  const uint32_t priority = pick_priority();
  const uint32_t delay = pick_delay();
  if (out.verb == Verb::Touch) {
    out.changes = false;
    out.line = fmt::format("touch {}", id);
  }
  if (out.verb == Verb::Delete) out.line = fmt::format("delete {}", id);
  if (out.verb == Verb::Bury) {
    out.after = becomes(JobState::Buried, priority);
    out.line = fmt::format("bury {} {}", id, priority);
  }
  if (out.verb == Verb::Release) {
    out.after = becomes(delay > 0 ? JobState::Delayed : JobState::Ready, priority, delay);
    out.line = fmt::format("release {} {} {}", id, priority, delay);
  }
  return true;
}

bool Load::choose_anyones(Sent& out) {
  const bool kick = out.verb == Verb::KickJob;
  out.job = pick_job([kick](const Job& job) {
    return job.holder < 0 && !(kick && job.live.state == JobState::Ready);
  });
  if (out.job == nullptr) return false;
  out.may_miss = may_be_reserved(*out.job);
  if (out.verb == Verb::Delete) out.line = fmt::format("delete {}", out.job->id);
  if (out.verb == Verb::Delete) return true;
  out.after = becomes(JobState::Ready, out.job->live.priority);
  out.line = fmt::format("{} {}", kick ? "kick-job" : "reserve-job", out.job->id);
  return true;
}

bool Load::choose_kick(Sent& out) {
  if (expects_damage_ || !tube_is_quiet(out.tube)) return false;
  out.kicked = buried_jobs(out.tube);
  out.line = "kick 1000000";
  return !out.kicked.empty();
}

bool Load::choose_pause(Sent& out) {
  for (const Connection& connection : connections_)
    for (const Sent& sent : connection.sent)
      if (sent.verb == Verb::Pause && sent.tube == out.tube) return false;
  const bool paused = ledger_.tubes()[out.tube].pauses.back() > 0;
  out.seconds = !paused && pick(3) == 0 ? long_s : 0;
  out.line = fmt::format("pause-tube {} {}", ledger_.tubes()[out.tube].name, out.seconds);
  return true;
}

// Any job, whoever holds it. Some texts are long, so that a batch has notes of very different
// sizes.
bool Load::choose_note(Sent& out) {
  out.job = pick_job([](const Job&) { return true; });
  if (out.job == nullptr) return false;
  Job& job = *out.job;
  const std::string text =
      fmt::format("note {} of {}", job.notes.size() + 1, ledger_.body(job).substr(0, 64));
  job.sent_note = text + std::string(pick(8) == 0 ? pick(4'000) : 0, '.');
  out.changes = false;
  out.line = fmt::format("note {} {}", job.id, job.sent_note.size());
  return true;
}

Status Load::send(size_t index, Sent sent) {
  Connection& connection = connections_[index];
  std::string bytes = sent.line + "\r\n";
  if (sent.verb == Verb::Put) bytes += ledger_.body(*sent.job) + "\r\n";
  if (sent.verb == Verb::Note) bytes += sent.job->sent_note + "\r\n";
  if (sent.verb == Verb::Kick) ledger_.tubes()[sent.tube].kicking = true;
  if (sent.job != nullptr) {
    sent.job->busy = true;
    sent.job->history.push_back(fmt::format("conn {} sends: {}", index, sent.line));
  }
  connection.sent.push_back(std::move(sent));
  return connection.socket.send(bytes);
}

// Closing releases the jobs that the connection holds, which the server may notice late.
Status Load::reopen(size_t index) {
  for (Job* job : present_) {
    if (job->holder != static_cast<int>(index)) continue;
    job->holder = -1;
    job->live.state = JobState::Ready;
    job->history.push_back(fmt::format("conn {} closes", index));
  }
  return start(connections_[index], index);
}

// ---- Replies.

Status Load::read_some(size_t index, int timeout_ms, bool& ended) {
  for (;;) {
    Result<std::string> reply = connections_[index].socket.read_reply(timeout_ms);
    if (reply.ok()) {
      if (Status s = on_reply(index, *reply); !s.ok()) return s;
      continue;
    }
    ended = reply.status().code() == StatusCode::Io;
    const bool late = timeout_ms > 0 && !ended;
    return late ? reply.take_status() : Status();
  }
}

Status Load::on_reply(size_t index, std::string_view reply) {
  std::deque<Sent>& queue = connections_[index].sent;
  if (queue.empty())
    return Status(StatusCode::Corruption, fmt::format("a reply to nothing: {}", reply));
  const Sent sent = std::move(queue.front());
  queue.pop_front();
  const std::string_view head = reply.substr(0, reply.find("\r\n"));
  if (sent.job != nullptr) {
    sent.job->busy = false;
    sent.job->history.push_back(fmt::format("conn {} reads: {}", index, head));
  }
  const bool missed = sent.may_miss && head == "NOT_FOUND";
  const bool nothing = sent.verb == Verb::Reserve && head == "TIMED_OUT";
  if (missed || nothing) return {};
  if (expects_damage_ && sent.verb == Verb::Reserve && head == "INTERNAL_ERROR") {
    ++damage_met_;
    return {};
  }
  if (head.substr(0, head.find(' ')) == success_word(sent.verb)) return on_done(index, sent, reply);
  if (sent.job != nullptr) return surprise(*sent.job, fmt::format("got an odd reply: {}", head));
  return Status(StatusCode::Corruption, fmt::format("odd reply to {}: {}", sent.line, head));
}

Status Load::on_done(size_t index, const Sent& sent, std::string_view reply) {
  ++done_[static_cast<size_t>(sent.verb)];
  Tube& tube = ledger_.tubes()[sent.tube];
  switch (sent.verb) {
    case Verb::Touch:
      return {};
    case Verb::Note:
      sent.job->notes.push_back(std::exchange(sent.job->sent_note, {}));
      return {};
    case Verb::Reserve:
    case Verb::ReserveJob:
      return on_reserved(index, sent, reply);
    case Verb::Pause:
      tube.pauses = {sent.seconds};
      return {};
    case Verb::Kick:
      return on_kicked(index, sent, reply);
    case Verb::Put:
      if (Status s = ledger_.learn_id(*sent.job, first_number(reply)); !s.ok()) return s;
      break;
    default:
      break;
  }
  Job& job = *sent.job;
  job.outcomes = {sent.after};
  job.live.priority = sent.after.priority;
  // A reserve may have been executed later, and its reply read before this one.
  const bool was_holders = job.holder == static_cast<int>(index) && sent.verb != Verb::Put;
  const bool taken_since = job.holder >= 0 && !was_holders;
  if (taken_since && sent.verb == Verb::Delete) return surprise(job, "was held by another");
  if (taken_since) return {};
  job.live = sent.after;
  job.holder = -1;
  return {};
}

Status Load::on_reserved(size_t index, const Sent& sent, std::string_view reply) {
  const std::string_view head = reply.substr(0, reply.find("\r\n"));
  Job* job = ledger_.find_by_body(support::body_in(reply));
  if (job == nullptr)
    return Status(StatusCode::Corruption, fmt::format("a body that was never sent: {}", head));
  if (Status s = ledger_.learn_id(*job, first_number(reply)); !s.ok()) return s;
  job->history.push_back(fmt::format("conn {} reserved it: {}", index, head));
  if (sent.job != nullptr && sent.job != job) return surprise(*job, "came instead of another");
  const bool expected = job->live.exists && job->holder < 0 && may_be_reserved(*job);
  // An unanswered command about the job may have made it ready.
  const bool unanswered = job->busy || sent.job != nullptr || ledger_.tubes()[job->tube].kicking;
  if (!expected && !unanswered) return surprise(*job, "was reserved");
  if (sent.job != nullptr) job->outcomes.push_back(sent.after);
  job->live.exists = true;
  job->live.state = JobState::Reserved;
  job->holder = static_cast<int>(index);
  return {};
}

Status Load::on_kicked(size_t index, const Sent& sent, std::string_view reply) {
  ledger_.tubes()[sent.tube].kicking = false;
  if (first_number(reply) != sent.kicked.size())
    return Status(StatusCode::Corruption, fmt::format("{} jobs were buried in the tube, but: {}",
                                                      sent.kicked.size(), reply));
  for (Job* job : sent.kicked) {
    job->outcomes = {becomes(JobState::Ready, job->live.priority)};
    if (job->holder < 0) job->live = job->outcomes.back();
    job->history.push_back(fmt::format("conn {} reads: KICKED, its tube", index));
  }
  return {};
}

// The server died before it answered. The command may have been executed or not.
void Load::on_lost(const Sent& sent) {
  if (sent.verb == Verb::Pause) ledger_.tubes()[sent.tube].pauses.push_back(sent.seconds);
  for (Job* job : sent.kicked)
    job->outcomes.push_back(becomes(JobState::Ready, job->live.priority));
  if (sent.job == nullptr) return;
  sent.job->history.push_back("no reply: the server was killed");
  if (sent.changes) sent.job->outcomes.push_back(sent.after);
}

// ---- Selection of jobs.

bool Load::tube_is_quiet(size_t tube) const {
  for (const Connection& connection : connections_)
    for (const Sent& sent : connection.sent) {
      if (sent.verb == Verb::Kick && sent.tube == tube) return false;
      if (sent.job == nullptr || sent.job->tube != tube) continue;
      const bool buried = sent.job->live.state == JobState::Buried && sent.job->live.exists;
      if (buried || sent.verb == Verb::Bury) return false;
    }
  return true;
}

std::vector<Job*> Load::buried_jobs(size_t tube) {
  std::vector<Job*> found;
  for (Job* job : present_)
    if (job->tube == tube && job->live.exists && job->live.state == JobState::Buried)
      found.push_back(job);
  return found;
}

// Tries a few random jobs. Returns null if none of them matches and is free.
template <typename Wanted>
Job* Load::pick_job(Wanted wanted) {
  for (uint32_t tries = 0; tries < aims_max && !present_.empty(); ++tries) {
    Job*& place = present_[pick(static_cast<uint32_t>(present_.size()))];
    Job* job = place;
    if (job->busy || job->is_damaged || ledger_.tubes()[job->tube].kicking) continue;
    if (job->live.exists && wanted(*job)) return job;
    if (job->live.exists) continue;
    place = present_.back();
    present_.pop_back();
  }
  return nullptr;
}

uint32_t Load::pick_delay() {
  const uint32_t choice = pick(20);
  return choice < 14 ? 0 : choice < 17 ? 1 : long_s;
}

uint32_t Load::pick_priority() {
  constexpr std::array<uint32_t, 6> edges = {0, 1, 1023, 1024, 70'000, 4'294'967'295};
  return edges[pick(edges.size())];
}

}  // namespace perennial::crash
