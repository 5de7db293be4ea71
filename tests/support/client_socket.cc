#include "tests/support/client_socket.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace perennial::support {
namespace {

constexpr std::string_view unix_prefix = "unix:";

Status io_error(std::string_view doing) {
  return Status(StatusCode::Io, fmt::format("{}: {}", doing, std::strerror(errno)));
}

int64_t now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

union SocketAddress {
  sockaddr any;
  sockaddr_in in;
  sockaddr_un un;
};

Result<socklen_t> parse_unix(std::string_view path, SocketAddress& out) {
  out.un.sun_family = AF_UNIX;
  if (path.size() >= sizeof out.un.sun_path)
    return Status(StatusCode::InvalidArgument, "socket path too long");
  std::memcpy(out.un.sun_path, path.data(), path.size());
  return static_cast<socklen_t>(sizeof out.un);
}

Result<socklen_t> parse_address(std::string_view address, SocketAddress& out) {
  std::memset(&out, 0, sizeof out);
  if (address.starts_with(unix_prefix)) return parse_unix(address.substr(unix_prefix.size()), out);
  const size_t colon = address.rfind(':');
  const std::string host(address.substr(0, colon));
  uint16_t port = 0;
  if (colon != std::string_view::npos)
    std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  out.in.sin_family = AF_INET;
  out.in.sin_port = htons(port);
  if (port == 0 || inet_pton(AF_INET, host.c_str(), &out.in.sin_addr) != 1)
    return Status(StatusCode::InvalidArgument, fmt::format("bad address {}", address));
  return static_cast<socklen_t>(sizeof out.in);
}

}  // namespace

Result<ClientSocket> ClientSocket::connect(std::string_view address) {
  SocketAddress to;
  Result<socklen_t> length = parse_address(address, to);
  if (!length.ok()) return length.take_status();
  ClientSocket client(::socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (client.fd_ < 0) return io_error("socket");
  if (::connect(client.fd_, &to.any, *length) != 0) return io_error("connect");
  const int on = 1;
  if (to.any.sa_family == AF_INET)
    ::setsockopt(client.fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return client;
}

Status ClientSocket::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return io_error("send");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

Result<std::string> ClientSocket::read_reply(int timeout_ms) {
  const int64_t deadline = now_ms() + timeout_ms;
  size_t end = 0;
  while ((end = reply_end(pending_)) == 0)
    if (Status s = fill(deadline); !s.ok()) return s;
  std::string reply = pending_.substr(0, end);
  pending_.erase(0, end);
  return reply;
}

Result<std::string> ClientSocket::read_bytes(size_t count, int timeout_ms) {
  const int64_t deadline = now_ms() + timeout_ms;
  while (pending_.size() < count)
    if (Status s = fill(deadline); !s.ok()) return s;
  std::string bytes = pending_.substr(0, count);
  pending_.erase(0, count);
  return bytes;
}

Result<std::string> ClientSocket::read_to_end(int timeout_ms) {
  const int64_t deadline = now_ms() + timeout_ms;
  for (;;) {
    Status s = fill(deadline);
    if (s.code() == StatusCode::Io) return std::exchange(pending_, {});
    if (!s.ok()) return s;
  }
}

Result<std::string> ClientSocket::ask(std::string_view bytes, int timeout_ms) {
  if (Status s = send(bytes); !s.ok()) return s;
  return read_reply(timeout_ms);
}

void ClientSocket::shutdown_write() {
  ::shutdown(fd_, SHUT_WR);
}

void ClientSocket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Status ClientSocket::fill(int64_t deadline_ms) {
  pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
  const int64_t left = std::max<int64_t>(0, deadline_ms - now_ms());
  const int ready = ::poll(&waiting, 1, static_cast<int>(left));
  if (ready < 0 && errno == EINTR) return {};
  if (ready < 0) return io_error("poll");
  if (ready == 0) return Status(StatusCode::NotFound, fmt::format("no reply; have '{}'", pending_));
  char bytes[64 * 1024];
  const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
  if (got < 0) return io_error("recv");
  if (got == 0) return Status(StatusCode::Io, "the connection was closed");
  pending_.append(bytes, static_cast<size_t>(got));
  return {};
}

size_t reply_end(std::string_view bytes) {
  const size_t line = bytes.find("\r\n");
  if (line == std::string_view::npos) return 0;
  const std::string_view head = bytes.substr(0, line);
  const bool carries = head.starts_with("RESERVED ") || head.starts_with("FOUND ") ||
                       head.starts_with("OK ") || head.starts_with("FAILED ");
  if (!carries) return line + 2;
  // "RESERVED <id> <bytes>", perhaps with facts behind it; "OK <bytes>".
  const bool has_id = head.starts_with("RESERVED ") || head.starts_with("FOUND ");
  size_t at = head.find(' ') + 1;
  if (has_id) at = head.find(' ', at) + 1;
  const std::string_view digits = head.substr(at, head.find(' ', at) - at);
  size_t body = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), body);
  const size_t end = line + 2 + body + 2;
  return bytes.size() >= end ? end : 0;
}

}  // namespace perennial::support
