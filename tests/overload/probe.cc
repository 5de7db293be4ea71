#include "tests/overload/probe.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace perennial::overload {
namespace {

using Clock = std::chrono::steady_clock;

// A large body that is being synced delays all answers. No other delay may be longer.
constexpr int patience_ms = 60'000;
constexpr auto pace = std::chrono::milliseconds(3);
constexpr uint64_t rounds_per_look = 100;

}  // namespace

Status Probe::start(const std::string& address, bool may_be_refused) {
  Result<support::ClientSocket> socket = support::ClientSocket::connect(address);
  if (!socket.ok()) return socket.take_status();
  socket_ = socket.take();
  may_be_refused_ = may_be_refused;
  thread_ = std::thread([this] { work(); });
  return {};
}

const Probe::Seen& Probe::stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
  return seen_;
}

void Probe::work() {
  if (!expect("use witness\r\n", "USING witness\r\n") ||
      !expect("watch witness\r\n", "WATCHING 2\r\n") ||
      !expect("ignore default\r\n", "WATCHING 1\r\n")) {
    return;
  }
  // A round is always completed, because a load may be over before the first one.
  do {
    if (seen_.rounds % rounds_per_look == 0 && !look()) return;
    if (!round()) return;
    ++seen_.rounds;
    std::this_thread::sleep_for(pace);
  } while (!stopping_);
  look();
}

bool Probe::round() {
  const std::string body = fmt::format("round {}", seen_.rounds);
  std::string reply;
  if (!ask(fmt::format("put 0 0 3600 {}\r\n{}\r\n", body.size(), body), reply)) return false;
  if (may_be_refused_ && reply == "OUT_OF_MEMORY\r\n") {
    ++seen_.refused;
    return expect("list-tube-used\r\n", "USING witness\r\n");
  }
  const std::string_view inserted = "INSERTED ";
  if (!reply.starts_with(inserted)) {
    seen_.wrong = "to put: " + reply;
    return false;
  }
  const std::string id = reply.substr(inserted.size(), reply.size() - inserted.size() - 2);
  return expect("reserve-with-timeout 30\r\n",
                fmt::format("RESERVED {} {}\r\n{}\r\n", id, body.size(), body)) &&
         expect(fmt::format("delete {}\r\n", id), "DELETED\r\n") &&
         expect(fmt::format("peek {}\r\n", id), "NOT_FOUND\r\n");
}

bool Probe::expect(std::string_view line, std::string_view wanted) {
  std::string reply;
  if (!ask(line, reply)) return false;
  if (reply == wanted) return true;
  seen_.wrong = fmt::format("to {}: {} and not {}", line, reply.substr(0, 200), wanted);
  return false;
}

bool Probe::ask(std::string_view line, std::string& reply) {
  const auto asked = Clock::now();
  Result<std::string> answer = socket_.ask(line, patience_ms);
  if (!answer.ok()) {
    seen_.wrong = fmt::format("to {}: {}", line.substr(0, 40), answer.status().message());
    return false;
  }
  reply = answer.take();
  const auto waited = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - asked);
  seen_.longest_wait_us = std::max(seen_.longest_wait_us, static_cast<uint64_t>(waited.count()));
  return true;
}

bool Probe::look() {
  std::string stats;
  if (!ask("stats\r\n", stats)) return false;
  seen_.largest_lag_us = std::max(seen_.largest_lag_us, stat(stats, "loop-lag-us"));
  return true;
}

}  // namespace perennial::overload
