#include "tests/transcripts/socket_driver.h"

#include <chrono>
#include <cstdlib>
#include <regex>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

namespace perennial::transcripts {
namespace {

// What core tells at the beginning of a transcript. In one that fits a socket it stays so.
std::string with_fake_times(const std::string& reply) {
  static const std::regex put_at(R"(put-at: "[-0-9T:.]{23}Z")");
  return std::regex_replace(reply, put_at, R"(put-at: "2023-11-14T22:13:20.000Z")");
}

}  // namespace

SocketDriver::SocketDriver(const support::ServerProcess& server) : server_(server) {
  const char* const threads = std::getenv("TRANSCRIPT_IO_THREADS");
  const int count = threads == nullptr ? 1 : std::atoi(threads);
  for (int i = 0; i < count; ++i) controls_.push_back(server.connect());
}

support::ClientSocket& SocketDriver::socket(const std::string& client) {
  const auto found = sockets_.find(client);
  if (found != sockets_.end()) return found->second;
  return sockets_.emplace(client, server_.connect()).first->second;
}

// Both servers poll their sockets in the order in which bytes arrived. The answer to a later
// request therefore proves that all earlier bytes were read, and with several threads those of the
// same thread. A thread has one of the first connections each, as they go to the one with the
// fewest.
void SocketDriver::await_idle() {
  for (support::ClientSocket& control : controls_) {
    const Result<std::string> answer = control.ask("list-tube-used\r\n");
    EXPECT_TRUE(answer.ok());
  }
}

void SocketDriver::send(const std::string& client, const std::string& bytes) {
  EXPECT_TRUE(socket(client).send(bytes).ok());
  await_idle();
}

void SocketDriver::end(const std::string& client) {
  socket(client).shutdown_write();
  await_idle();
}

void SocketDriver::close(const std::string& client) {
  sockets_.erase(client);
  await_idle();
}

std::optional<std::string> SocketDriver::receive(const std::string& client) {
  // A reply that is due takes at most one sync, because the server has read everything. Only the
  // line "nothing" waits for the whole time.
  constexpr int nothing_ms = 300;
  Result<std::string> reply = socket(client).read_reply(nothing_ms);
  if (!reply.ok()) return std::nullopt;
  return with_fake_times(*reply);
}

bool SocketDriver::closed(const std::string& client) {
  const Result<std::string> rest = socket(client).read_to_end();
  return rest.ok() && rest->empty();
}

void SocketDriver::skip(Nanos /*by*/) {
  ADD_FAILURE() << "the time of a real server cannot be skipped";
}

void SocketDriver::advance(Nanos by) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(by));
}

void SocketDriver::set(const std::string& setting, int64_t /*value*/) {
  ADD_FAILURE() << "only on core: " << setting;
}

void SocketDriver::act(const Line& line) {
  ADD_FAILURE() << "only on core: " << line.text;
}

}  // namespace perennial::transcripts
