#include "cmd/common/socket.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace perennial::common {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool set_blocking(int fd, bool blocks) {
  const int flags = ::fcntl(fd, F_GETFL);
  return ::fcntl(fd, F_SETFL, blocks ? flags & ~O_NONBLOCK : flags | O_NONBLOCK) == 0;
}

// Whether the connection that has begun stands before the limit. Otherwise errno says why not.
bool wait_for_connection(int fd, milliseconds limit) {
  const auto due = steady_clock::now() + limit;
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(due - steady_clock::now()).count();
    pollfd ready{.fd = fd, .events = POLLOUT, .revents = 0};
    const int count = ::poll(&ready, 1, static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX)));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    if (count == 0) break;
    int error = 0;
    socklen_t size = sizeof error;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) return false;
    errno = error;
    return error == 0;
  }
  errno = ETIMEDOUT;
  return false;
}

// connect(2) with a limit. Otherwise errno says why not.
bool connect_within(int fd, const sockaddr* to, socklen_t bytes,
                    std::optional<milliseconds> limit) {
  if (!limit) return ::connect(fd, to, bytes) == 0;
  if (!set_blocking(fd, false)) return false;
  const bool stands =
      ::connect(fd, to, bytes) == 0 || (errno == EINPROGRESS && wait_for_connection(fd, *limit));
  return stands && set_blocking(fd, true);
}

Result<Socket> connect_unix(const std::string& path) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  if (path.size() >= sizeof to.sun_path)
    return Status(StatusCode::InvalidArgument, fmt::format("{}: the path is too long", path));
  path.copy(to.sun_path, path.size());
  Socket socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
    return system_error("connect");
  return socket;
}

Result<Socket> connect_first(const addrinfo* found, std::optional<milliseconds> limit) {
  for (; found != nullptr; found = found->ai_next) {
    Socket socket(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!connect_within(socket.fd(), found->ai_addr, found->ai_addrlen, limit)) continue;
    const int on = 1;
    ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
  }
  return system_error("connect");
}

}  // namespace

Result<Socket> connect_to(const Address& address, std::optional<milliseconds> limit) {
  if (address.kind == Address::Kind::Unix) return connect_unix(address.path);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string host = address.host.empty() ? "localhost" : address.host;
  const int failed =
      ::getaddrinfo(host.c_str(), std::to_string(address.port).c_str(), &wanted, &found);
  if (failed != 0)
    return Status(StatusCode::NotFound, fmt::format("{}: {}", host, ::gai_strerror(failed)));
  Result<Socket> socket = connect_first(found, limit);
  ::freeaddrinfo(found);
  return socket;
}

bool is_local_peer(int fd) {
  constexpr uint8_t loopback_network = 127;
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  if (peer.ss_family == AF_UNIX) return true;
  if (peer.ss_family == AF_INET) {
    const in_addr& address = reinterpret_cast<sockaddr_in&>(peer).sin_addr;
    return ntohl(address.s_addr) >> 24 == loopback_network;
  }
  const in6_addr& address = reinterpret_cast<sockaddr_in6&>(peer).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&address)) return address.s6_addr[12] == loopback_network;
  return IN6_IS_ADDR_LOOPBACK(&address);
}

Status system_error(const char* doing) {
  return Status(StatusCode::Io, fmt::format("{}: {}", doing, std::strerror(errno)));
}

}  // namespace perennial::common
