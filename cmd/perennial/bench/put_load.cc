#include "cmd/perennial/bench/put_load.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <random>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

namespace perennial::bench {
namespace {

constexpr size_t input_bytes = size_t{64} * 1024;
// At least so many go into one system call, when they are due.
constexpr size_t send_bytes = size_t{64} * 1024;
constexpr int events_max = 256;
constexpr int silence_ms_max = 30'000;

std::string random_body(uint32_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string body(bytes, ' ');
  for (char& letter : body) letter = static_cast<char>('!' + random() % 90);
  return body;
}

std::string one_put(const PutOptions& options) {
  return fmt::format("put 1024 0 60 {}\r\n{}\r\n", options.body_bytes,
                     random_body(options.body_bytes, options.seed));
}

// Anything but INSERTED ends the run: what would be measured is not a put.
Status refuse(const char* reply, const char* end) {
  const std::string_view text(reply, static_cast<size_t>(end - reply));
  return Status(StatusCode::Io,
                fmt::format("the server answered a put with {}", text.substr(0, text.find('\r'))));
}

}  // namespace

Nanos now_nanos() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * nanos_per_second + now.tv_nsec;
}

PutLoad::PutLoad(const PutOptions& options) : options_(options), input_(input_bytes) {
  const std::string put = one_put(options);
  put_bytes_ = put.size();
  while (puts_.size() < put_bytes_ + send_bytes) puts_ += put;
}

PutLoad::~PutLoad() {
  if (epoll_ >= 0) ::close(epoll_);
}

Status PutLoad::open(const common::Address& server) {
  epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return common::system_error("epoll_create");
  connections_.resize(options_.connections);
  for (Connection& connection : connections_) {
    Result<common::Socket> socket = common::connect_to(server);
    if (!socket.ok()) return socket.take_status();
    connection.socket = socket.take();
    connection.sent_at.resize(options_.in_flight);
    ::fcntl(connection.socket.fd(), F_SETFL, O_NONBLOCK);
    // Edge-triggered, so that it is told once for all what to wait for.
    epoll_event event{.events = EPOLLIN | EPOLLOUT | EPOLLET, .data = {.ptr = &connection}};
    if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, connection.socket.fd(), &event) != 0)
      return common::system_error("epoll_ctl");
  }
  for (Connection& connection : connections_) {
    std::ranges::fill(connection.sent_at, now_nanos());
    connection.unsent_bytes = uint64_t{options_.in_flight} * put_bytes_;
    if (Status s = send(connection); !s.ok()) return s;
  }
  return {};
}

Status PutLoad::run_for(Nanos duration, Latencies& latencies) {
  const Nanos end = now_nanos() + duration;
  std::array<epoll_event, events_max> events;
  while (now_nanos() < end) {
    const int ready = ::epoll_wait(epoll_, events.data(), events_max, silence_ms_max);
    if (ready < 0 && errno != EINTR) return common::system_error("epoll_wait");
    if (ready == 0) return Status(StatusCode::Io, "the server has stopped answering");
    for (int i = 0; i < ready; ++i) {
      const epoll_event& event = events[static_cast<size_t>(i)];
      auto& connection = *static_cast<Connection*>(event.data.ptr);
      if ((event.events & ~uint32_t{EPOLLOUT}) != 0)
        if (Status s = on_readable(connection, latencies); !s.ok()) return s;
      if (connection.unsent_bytes > 0)
        if (Status s = send(connection); !s.ok()) return s;
    }
  }
  return {};
}

Status PutLoad::on_readable(Connection& connection, Latencies& latencies) {
  for (;;) {
    const ssize_t got = ::recv(connection.socket.fd(), input_.data(), input_.size(), 0);
    if (got < 0 && errno == EAGAIN) return {};
    if (got < 0) return common::system_error("recv");
    if (got == 0) return Status(StatusCode::Io, "the server closed a connection");
    const Nanos now = now_nanos();
    const char* at = input_.data();
    const char* const end = at + got;
    while (at != end) {
      if (!connection.in_line && *at != 'I') return refuse(at, end);
      const void* newline = std::memchr(at, '\n', static_cast<size_t>(end - at));
      connection.in_line = newline == nullptr;
      if (newline == nullptr) break;
      at = static_cast<const char*>(newline) + 1;
      Nanos& sent_at = connection.sent_at[connection.oldest];
      latencies.add(now - sent_at);
      sent_at = now;  // The put that takes its place is sent below, in this turn.
      connection.oldest = connection.oldest + 1 == options_.in_flight ? 0 : connection.oldest + 1;
      connection.unsent_bytes += put_bytes_;
    }
    if (static_cast<size_t>(got) < input_.size()) return {};
  }
}

Status PutLoad::send(Connection& connection) {
  while (connection.unsent_bytes > 0) {
    const size_t here =
        std::min<uint64_t>(connection.unsent_bytes, puts_.size() - connection.put_offset);
    const ssize_t sent =
        ::send(connection.socket.fd(), puts_.data() + connection.put_offset, here, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) return {};
    if (sent < 0) return common::system_error("send");
    connection.unsent_bytes -= static_cast<uint64_t>(sent);
    connection.put_offset = (connection.put_offset + static_cast<size_t>(sent)) % put_bytes_;
  }
  return {};
}

}  // namespace perennial::bench
