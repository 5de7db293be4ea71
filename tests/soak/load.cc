#include "tests/soak/load.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>
#include <poll.h>

namespace perennial::soak {
namespace {

// After this time an answer counts as missing. A disk that stalls longer than 30 s ends the server.
constexpr Millis answer_wait_ms = 60'000;

}  // namespace

Load::Load(JobLedger& ledger, uint64_t seed, size_t connections_count)
    : ledger_(ledger), random_(static_cast<uint32_t>(seed)), connections_(connections_count) {}

Status Load::open(const std::string& address) {
  address_ = address;
  for (size_t index = 0; index < connections_.size(); ++index)
    if (Status s = start(index); !s.ok()) return s;
  return {};
}

Status Load::run_for(Millis ms, bool& ended) {
  const Millis end = now_ms() + ms;
  std::vector<pollfd> waiting(connections_.size());
  ended = false;
  while (now_ms() < end && !ended) {
    for (size_t index = 0; index < connections_.size(); ++index) {
      Connection& connection = connections_[index];
      const bool may_act = !connection.sent || connection.sent->verb == Verb::Reserve;
      if (may_act && now_ms() >= connection.next_at) {
        Status sent = step(index);
        ended |= sent.code() == StatusCode::Io;
        if (!sent.ok() && !ended) return sent;
      }
      waiting[index] = {.fd = connection.socket.fd(), .events = POLLIN, .revents = 0};
    }
    ::poll(waiting.data(), waiting.size(), 1);
    for (size_t index = 0; index < connections_.size(); ++index) {
      if (waiting[index].revents == 0) continue;
      Result<std::string> reply = connections_[index].socket.read_reply(0);
      if (!reply.ok()) {
        ended |= reply.status().code() == StatusCode::Io;
        continue;
      }
      if (Status s = on_reply(index, *reply); !s.ok()) return s;
    }
    if (Status s = check_waits(); !s.ok()) return s;
  }
  return {};
}

Status Load::check_waits() {
  for (const Connection& connection : connections_) {
    if (!connection.sent || connection.sent->verb == Verb::Reserve) continue;
    if (now_ms() - connection.sent->at < answer_wait_ms) continue;
    return {StatusCode::Corruption, "no answer to: " + connection.sent->line};
  }
  return {};
}

Status Load::drain_replies() {
  for (size_t index = 0; index < connections_.size(); ++index) {
    Connection& connection = connections_[index];
    while (connection.socket.is_open()) {
      Result<std::string> reply = connection.socket.read_reply();
      if (!reply.ok() && reply.status().code() == StatusCode::Io) break;
      if (!reply.ok()) return reply.take_status().with("the server has ended, a connection not");
      if (Status s = on_reply(index, *reply); !s.ok()) return s;
    }
  }
  for (Connection& connection : connections_) {
    if (connection.sent) on_lost(*connection.sent);
    connection = Connection();
  }
  return {};
}

Status Load::finish() {
  for (size_t index = 0; index < connections_.size(); ++index) {
    Connection& connection = connections_[index];
    const bool waits = connection.sent && connection.sent->verb == Verb::Reserve;
    if (connection.sent && !waits) {
      Result<std::string> reply = connection.socket.read_reply();
      if (!reply.ok()) return reply.take_status().with(connection.sent->line);
      if (Status s = on_reply(index, *reply); !s.ok()) return s;
    }
    if (Status s = close(index); !s.ok()) return s;
  }
  return {};
}

// The jobs of the connection become ready again, sooner or later.
Status Load::close(size_t index) {
  Connection& connection = connections_[index];
  for (Job* job : connection.held) {
    const Fact& fact = ledger_.fact(*job);
    const bool is_holder = fact.place == Place::Held && fact.holder == static_cast<int>(index);
    if (!is_holder) continue;
    ledger_.note(*job, fmt::format("conn {} closes", index));
    ledger_.set(*job, Place::Ready);
  }
  connection = Connection();
  return {};
}

// The command may have been executed or not.
void Load::on_lost(const Sent& sent) {
  if (sent.verb == Verb::Kick) {
    --ledger_.tube(sent.tube).kicks_in_flight;
    ledger_.tube(sent.tube).last_kick = ledger_.next_event();
  }
  if (sent.job == nullptr) return;
  sent.job->busy = false;
  ledger_.note(*sent.job, "no answer: " + sent.line);
  if (sent.verb == Verb::Put || sent.verb == Verb::Peek || sent.verb == Verb::StatsJob) return;
  if (ledger_.fact(*sent.job).place == Place::Gone) return;
  ledger_.set(*sent.job, Place::Loose);
  ledger_.fact(*sent.job).may_be_gone |= sent.verb == Verb::Delete;
}

uint64_t Load::take_p99_ms() {
  if (latencies_ms_.empty()) return 0;
  const auto place =
      latencies_ms_.begin() + static_cast<ptrdiff_t>(latencies_ms_.size() * 99 / 100);
  std::ranges::nth_element(latencies_ms_, place);
  const uint64_t p99 = *place;
  latencies_ms_.clear();
  return p99;
}

}  // namespace perennial::soak
