// Chooses what to send: every command, by weights.

#include <fmt/format.h>

#include "tests/soak/load.h"

namespace perennial::soak {
namespace {

constexpr size_t present_jobs_aim = 3'000;
constexpr uint32_t think_ms_max = 60;
constexpr uint32_t close_one_in = 400;
constexpr Millis patience_ms = 4'000;  // For a reserve without a timeout.
constexpr uint32_t tries_max = 12;

// One worker in five hangs: it touches its jobs at times, and most of them time out.
constexpr size_t hanging_one_in = 5;
constexpr size_t hanging_holds_max = 10;
constexpr uint32_t hanging_acts_one_in = 20;

bool hangs(size_t index) {
  return index % hanging_one_in == 0;
}

struct Share {
  Verb verb;
  uint32_t weight;
  std::string_view name;
};
constexpr std::array<Share, verbs_count> shares = {{
    {Verb::Put, 48, "put"},
    {Verb::Reserve, 3, "reserve"},
    {Verb::ReserveWait, 40, "reserve-with-timeout"},
    {Verb::ReserveJob, 6, "reserve-job"},
    {Verb::Delete, 40, "delete"},
    {Verb::Release, 16, "release"},
    {Verb::Bury, 10, "bury"},
    {Verb::Touch, 8, "touch"},
    {Verb::KickJob, 8, "kick-job"},
    {Verb::Kick, 3, "kick"},
    {Verb::Peek, 8, "peek"},
    {Verb::PeekReady, 3, "peek-ready"},
    {Verb::PeekDelayed, 3, "peek-delayed"},
    {Verb::PeekBuried, 3, "peek-buried"},
    {Verb::StatsJob, 8, "stats-job"},
    {Verb::StatsTube, 2, "stats-tube"},
    {Verb::Stats, 1, "stats"},
    {Verb::ListTubes, 1, "list-tubes"},
    {Verb::ListTubeUsed, 2, "list-tube-used"},
    {Verb::ListTubesWatched, 2, "list-tubes-watched"},
    {Verb::Use, 10, "use"},
    {Verb::Watch, 10, "watch"},
    {Verb::Ignore, 9, "ignore"},
    {Verb::Pause, 1, "pause-tube"},
}};

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

}  // namespace

std::string_view verb_name(Verb verb) {
  return shares[static_cast<size_t>(verb)].name;
}

Status Load::start(size_t index) {
  Connection& connection = connections_[index];
  connection = Connection();
  Result<support::ClientSocket> socket = support::ClientSocket::connect(address_);
  if (!socket.ok()) return socket.take_status();
  connection.socket = socket.take();
  connection.next_at = now_ms() + pick(think_ms_max);
  return {};
}

Status Load::step(size_t index) {
  Connection& connection = connections_[index];
  const bool is_tired_of_waiting = connection.sent.has_value();
  connection.next_at = now_ms() + 1 + pick(think_ms_max);
  if (is_tired_of_waiting || pick(close_one_in) == 0) {
    if (Status s = close(index); !s.ok()) return s;
    return start(index);
  }
  for (uint32_t tries = 0; tries < tries_max; ++tries) {
    Sent sent{.verb = pick_verb(random_)};
    sent.tube = connection.used;
    if (choose(index, sent)) return send(index, std::move(sent));
  }
  return {};
}

bool Load::choose(size_t index, Sent& out) {
  switch (out.verb) {
    case Verb::Put:
      return choose_put(index, out);
    case Verb::Release:
    case Verb::Bury:
    case Verb::Touch:
      return choose_held(index, out);
    case Verb::Delete:
      return pick(3) > 0 ? choose_held(index, out) : choose_any(out);
    case Verb::ReserveJob:
    case Verb::KickJob:
    case Verb::Peek:
    case Verb::StatsJob:
      return choose_any(out);
    case Verb::Use:
    case Verb::Watch:
    case Verb::Ignore:
    case Verb::StatsTube:
    case Verb::Pause:
      return choose_tube(index, out);
    case Verb::Reserve:
    case Verb::ReserveWait:
      if (hangs(index) && connections_[index].held.size() >= hanging_holds_max) return false;
      choose_plain(out);
      return true;
    default:
      choose_plain(out);
      return true;
  }
}

bool Load::choose_put(size_t index, Sent& out) {
  if (ledger_.present().size() > present_jobs_aim && pick(8) != 0) return false;
  out.tube = connections_[index].used;
  const uint32_t ttr_s = pick(4) == 0 ? 3 + pick(3) : 60;
  const uint32_t delay_choice = pick(20);
  out.seconds = delay_choice < 14 ? 0 : delay_choice < 19 ? 2 + pick(3) : support::long_s;
  out.job = &ledger_.add(out.tube, ttr_s);
  out.line = fmt::format("put {} {} {} {}", pick(5) * 500, out.seconds, ttr_s,
                         ledger_.records().body(*out.job).size());
  return true;
}

bool Load::choose_held(size_t index, Sent& out) {
  const bool may_act = out.verb == Verb::Touch || !hangs(index) || pick(hanging_acts_one_in) == 0;
  if (!may_act) return false;
  out.job = pick_held(connections_[index], static_cast<int>(index));
  if (out.job == nullptr) return false;
  const JobId id = out.job->id;
  out.tube = out.job->tube;
  out.seconds = out.verb == Verb::Release && pick(4) == 0 ? 2 + pick(3) : 0;
  out.line = fmt::format("{} {}", verb_name(out.verb), id);
  if (out.verb == Verb::Bury) out.line += fmt::format(" {}", pick(5) * 500);
  if (out.verb == Verb::Release) out.line += fmt::format(" {} {}", pick(5) * 500, out.seconds);
  return true;
}

bool Load::choose_any(Sent& out) {
  out.job = pick_any();
  if (out.job == nullptr) return false;
  out.tube = out.job->tube;
  out.line = fmt::format("{} {}", verb_name(out.verb), out.job->id);
  return true;
}

bool Load::choose_tube(size_t index, Sent& out) {
  // Few tubes are busy, so that many tubes are created and end.
  const size_t count = ledger_.tubes_count();
  out.tube = pick(2) == 0 ? pick(4) : pick(static_cast<uint32_t>(count));
  const std::set<size_t>& watched = connections_[index].watched;
  if (out.verb == Verb::Watch && watched.size() > 6) return false;
  if (out.verb == Verb::Ignore)
    out.tube = *std::next(watched.begin(), pick(static_cast<uint32_t>(watched.size())));
  out.line = fmt::format("{} {}", verb_name(out.verb), JobLedger::tube_name(out.tube));
  if (out.verb == Verb::Pause) out.line += fmt::format(" {}", pick(3));
  return true;
}

void Load::choose_plain(Sent& out) {
  out.line = verb_name(out.verb);
  out.number = 1 + pick(20);
  if (out.verb == Verb::Kick) out.line += fmt::format(" {}", out.number);
  if (out.verb == Verb::ReserveWait) out.line += fmt::format(" {}", pick(3) == 0 ? 1 : 0);
}

Status Load::send(size_t index, Sent sent) {
  Connection& connection = connections_[index];
  std::string bytes = sent.line + "\r\n";
  sent.at = now_ms();
  sent.event = ledger_.next_event();
  if (sent.verb == Verb::Put) bytes += ledger_.records().body(*sent.job) + "\r\n";
  if (sent.verb == Verb::Put) ++ledger_.counts().puts_sent;
  if (sent.verb == Verb::Delete) ++ledger_.counts().deletes_sent;
  if (sent.verb == Verb::Kick) ++ledger_.tube(sent.tube).kicks_in_flight;
  // A reserve without a timeout is ended by closing its connection.
  if (sent.verb == Verb::Reserve) connection.next_at = sent.at + patience_ms;
  if (sent.job != nullptr) {
    const Fact& fact = ledger_.fact(*sent.job);
    sent.version = fact.version;
    sent.until = fact.until;
    sent.job->busy = true;
    ledger_.note(*sent.job, fmt::format("conn {} sends: {}", index, sent.line));
  }
  sent.counts = ledger_.counts();
  connection.sent = std::move(sent);
  return connection.socket.send(bytes);
}

Job* Load::pick_held(Connection& connection, int index) {
  while (!connection.held.empty()) {
    const size_t place = pick(static_cast<uint32_t>(connection.held.size()));
    Job* const job = connection.held[place];
    const Fact& fact = ledger_.fact(*job);
    const bool is_holder = fact.place == Place::Held && fact.holder == index;
    if (is_holder) return job->busy ? nullptr : job;
    connection.held[place] = connection.held.back();
    connection.held.pop_back();
  }
  return nullptr;
}

Job* Load::pick_any() {
  std::deque<size_t>& present = ledger_.present();
  for (uint32_t tries = 0; tries < tries_max && !present.empty(); ++tries) {
    size_t& place = present[pick(static_cast<uint32_t>(present.size()))];
    Job& job = ledger_.job(place);
    if (ledger_.fact(job).place == Place::Gone) {
      place = present.back();
      present.pop_back();
    } else if (job.id != 0 && !job.busy) {
      return &job;
    }
  }
  return nullptr;
}

}  // namespace perennial::soak
