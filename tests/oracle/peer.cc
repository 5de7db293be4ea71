#include "tests/oracle/peer.h"

#include <utility>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace perennial::oracle {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds silence_time(20'000);

}  // namespace

sockaddr_in loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

Peer::Peer(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const sockaddr_in address = loopback(port);
  if (connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    close(fd_);
    fd_ = -1;
    return;
  }
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Peer::~Peer() {
  if (fd_ >= 0) close(fd_);
}

Peer::Peer(Peer&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      ended_(other.ended_),
      received_(std::move(other.received_)),
      reply_(std::move(other.reply_)),
      parser_(std::move(other.parser_)) {}

Peer& Peer::operator=(Peer&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(ended_, other.ended_);
  std::swap(received_, other.received_);
  std::swap(reply_, other.reply_);
  std::swap(parser_, other.parser_);
  return *this;
}

// Errors are ignored here: a server that has closed is noticed when the reply is missing.
void Peer::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

void Peer::end_input() {
  shutdown(fd_, SHUT_WR);
}

std::string Peer::reply() {
  return reply_within(silence_time).value_or("<silence>");
}

std::optional<std::string> Peer::reply_within(std::chrono::milliseconds time) {
  const auto until = steady_clock::now() + time;
  for (;;) {
    std::optional<std::string> reply = take_reply();
    if (reply) return reply;
    if (ended_) return "<closed>" + std::exchange(reply_, "");
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    if (!receive(std::max(left, std::chrono::milliseconds(0)))) return std::nullopt;
  }
}

std::optional<std::string> Peer::take_reply() {
  if (received_.empty()) return std::nullopt;
  const wire::ReplyStep step = parser_.feed(received_);
  reply_.append(received_, 0, step.consumed);
  received_.erase(0, step.consumed);
  if (!step.status.ok()) {
    ended_ = true;
    received_.clear();
    return "<garbage: " + step.status.message() + ">";
  }
  if (!step.reply) return std::nullopt;
  return std::exchange(reply_, "");
}

bool Peer::receive(std::chrono::milliseconds time) {
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, static_cast<int>(time.count())) <= 0) return false;
  char chunk[64 * 1024];
  const ssize_t size = recv(fd_, chunk, sizeof chunk, 0);
  if (size > 0) received_.append(chunk, static_cast<size_t>(size));
  if (size <= 0) ended_ = true;
  return true;
}

}  // namespace perennial::oracle
