#include "cmd/perenniald/net/sockets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cmd/common/network.h"

namespace perennial::perenniald {
namespace {

constexpr int backlog = 1024;  // As in beanstalkd.

using Sockets = std::vector<BoundSocket>;
struct FreeInfo {
  void operator()(addrinfo* info) const { freeaddrinfo(info); }
};
using InfoList = std::unique_ptr<addrinfo, FreeInfo>;

Status failed(const std::string& name, const char* what, int error) {
  return {StatusCode::InvalidArgument,
          fmt::format("cannot listen on {}: {}: {}", name, what, std::strerror(error))};
}

// The result of one attempt: 0, or errno and the call that set it.
struct Attempt {
  int error = 0;
  const char* what = nullptr;
};

int set_number(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value);
}

int set_on(int fd, int level, int option) {
  return set_number(fd, level, option, 1);
}

// An IPv6 socket accepts IPv4 clients too if every interface is meant and no other socket binds
// IPv4.
Attempt bind_one(const addrinfo& info, bool dual, Sockets& out) {
  const int fd = socket(info.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return {errno, "socket"};
  BoundSocket owner(fd, false);
  const int v6_only = dual ? 0 : 1;
  if (set_on(fd, SOL_SOCKET, SO_REUSEADDR) != 0) return {errno, "SO_REUSEADDR"};
  if (info.ai_family == AF_INET6 &&
      setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6_only, sizeof v6_only) != 0) {
    return {errno, "IPV6_V6ONLY"};
  }
  if (bind(fd, info.ai_addr, info.ai_addrlen) != 0) return {errno, "bind"};
  out.push_back(std::move(owner));
  return {};
}

Result<InfoList> look_up(const char* host, uint16_t port, int family, const std::string& name) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host, fmt::format("{}", port).c_str(), &hints, &list);
  if (error == 0) return InfoList(list);
  return Status(StatusCode::InvalidArgument,
                fmt::format("cannot listen on {}: no such address: {}", name, gai_strerror(error)));
}

Status bind_everywhere(uint16_t port, Sockets& out) {
  const std::string name = fmt::format("port {} of every interface", port);
  Attempt attempt;
  for (const int family : {AF_INET6, AF_INET}) {
    const Result<InfoList> list = look_up(nullptr, port, family, name);
    if (!list.ok()) return list.status();
    attempt = bind_one(**list, true, out);
    if (attempt.error == 0) return prepare_listener(out.back().fd(), false);
    // If the port is taken, no other address helps; a machine without IPv6 still has IPv4.
    if (attempt.error == EADDRINUSE || attempt.error == EACCES) break;
  }
  return failed(name, attempt.what, attempt.error);
}

bool seen_before(const addrinfo* list, const addrinfo& info) {
  for (const addrinfo* other = list; other != &info; other = other->ai_next) {
    if (other->ai_addrlen == info.ai_addrlen &&
        std::memcmp(other->ai_addr, info.ai_addr, info.ai_addrlen) == 0) {
      return true;
    }
  }
  return false;
}

// "::", which beanstalkd, too, serves for both families.
bool is_any_ipv6(const addrinfo& info) {
  if (info.ai_family != AF_INET6) return false;
  return IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(info.ai_addr)->sin6_addr);
}

// Whether another address of the list is one of IPv4 with this port. A socket that serves both
// families would take its place.
bool has_ipv4_beside(const std::vector<common::Address>& addresses, uint16_t port) {
  return std::ranges::any_of(addresses, [port](const common::Address& other) {
    return other.kind == common::Address::Kind::Internet && other.port == port && port != 0 &&
           common::is_ipv4(other.host);
  });
}

// "localhost" may have an IPv6 address that no interface has. Such an address is skipped if another
// one can be bound.
Status bind_host(const common::Address& address, bool with_ipv4, Sockets& out) {
  const std::string name = common::to_text(address);
  const Result<InfoList> list = look_up(address.host.c_str(), address.port, AF_UNSPEC, name);
  if (!list.ok()) return list.status();
  Attempt last;
  const size_t before = out.size();
  for (const addrinfo* info = list->get(); info != nullptr; info = info->ai_next) {
    if (seen_before(list->get(), *info)) continue;
    const Attempt attempt = bind_one(*info, with_ipv4 && is_any_ipv6(*info), out);
    if (attempt.error == 0) {
      if (Status status = prepare_listener(out.back().fd(), false); !status.ok()) return status;
      continue;
    }
    last = attempt;
    if (attempt.error != EADDRNOTAVAIL && attempt.error != EAFNOSUPPORT) break;
  }
  const bool none = out.size() == before;
  const bool fatal = last.error != EADDRNOTAVAIL && last.error != EAFNOSUPPORT;
  return last.error != 0 && (none || fatal) ? failed(name, last.what, last.error) : Status();
}

Status bind_unix(const common::Address& address, const SocketAccess& access, Sockets& out) {
  const std::string name = common::to_text(address);
  const std::string doing = "cannot listen on " + name;
  Result<SocketFile> file = SocketFile::claim(address.path);
  if (!file.ok()) return file.take_status().with(doing);
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return failed(name, "socket", errno);
  if (Status status = file->bind(fd, access); !status.ok()) {
    close(fd);
    return std::move(status).with(doing);
  }
  out.emplace_back(fd, true, file.take());
  return {};
}

std::string text_of(const sockaddr_storage& address, socklen_t length) {
  if (address.ss_family == AF_UNIX) {
    const std::string_view path = reinterpret_cast<const sockaddr_un*>(&address)->sun_path;
    // That of a client has no name.
    return path.empty() || length <= sizeof(sa_family_t) ? "unix" : fmt::format("unix:{}", path);
  }
  // A client of IPv4 at a socket of both is named as at one of IPv4.
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(address);
  if (address.ss_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
    sockaddr_storage plain{};
    auto& v4 = reinterpret_cast<sockaddr_in&>(plain);
    v4.sin_family = AF_INET;
    v4.sin_port = v6.sin6_port;
    std::copy_n(v6.sin6_addr.s6_addr + 12, sizeof v4.sin_addr,
                reinterpret_cast<uint8_t*>(&v4.sin_addr));
    return text_of(plain, sizeof v4);
  }
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, host, sizeof host, port,
                  sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  return fmt::format(fmt::runtime(std::strchr(host, ':') ? "[{}]:{}" : "{}:{}"), host, port);
}

bool is_bound_locally(int fd) {
  sockaddr_storage where{};
  socklen_t length = sizeof where;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&where), &length) == 0 && is_local(where);
}

bool may_be_for_peers(const BoundSocket& socket, const std::string& peer_address) {
  if (peer_address.empty()) return false;
  const auto port_of = [](const std::string& address) {
    const Result<common::Address> parsed = common::parse_address(address, common::default_port);
    return parsed.ok() ? parsed->port : 0;
  };
  return !is_bound_locally(socket.fd()) || port_of(socket.name()) == port_of(peer_address);
}

}  // namespace

BoundSocket::BoundSocket(int fd, bool is_unix, std::optional<SocketFile> file, ListenerRole role)
    : fd_(fd), is_unix_(is_unix), is_local_(is_unix), role_(role), file_(std::move(file)) {}

BoundSocket::BoundSocket(BoundSocket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      is_unix_(other.is_unix_),
      is_local_(other.is_local_),
      role_(other.role_),
      listener_(other.listener_),
      file_(std::move(other.file_)) {}

BoundSocket::~BoundSocket() {
  close();
}

void BoundSocket::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

Status BoundSocket::listen() {
  if (::listen(fd_, backlog) != 0) return failed(name(), "listen", errno);
  is_local_ = is_unix_ || is_bound_locally(fd_);
  if (!file_) return {};
  return file_->check_in_place().with("cannot listen on " + name());
}

std::string BoundSocket::name() const {
  sockaddr_storage where{};
  socklen_t length = sizeof where;
  if (getsockname(fd_, reinterpret_cast<sockaddr*>(&where), &length) != 0) return "?";
  return text_of(where, length);
}

std::string peer_name(int fd) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return "?";
  return text_of(peer, length);
}

Status prepare_listener(int fd, bool is_unix) {
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return failed("a socket", "O_NONBLOCK", errno);
  }
  if (is_unix) return {};
  if (set_on(fd, IPPROTO_TCP, TCP_NODELAY) != 0) return failed("a socket", "TCP_NODELAY", errno);
  return {};
}

Status set_keepalive(const Sockets& sockets, const KeepaliveSettings& keepalive) {
  constexpr int probes = 4;
  const auto idle_s = static_cast<int>(keepalive.keepalive_s);
  const auto user_timeout_ms = static_cast<int>(keepalive.user_timeout_s * 1000);
  for (const BoundSocket& socket : sockets) {
    if (socket.is_unix()) continue;
    const int fd = socket.fd();
    const auto set = [fd](int level, int option, int value) {
      return set_number(fd, level, option, value) == 0;
    };
    const bool done =
        set(SOL_SOCKET, SO_KEEPALIVE, idle_s > 0 ? 1 : 0) &&
        (idle_s == 0 || (set(IPPROTO_TCP, TCP_KEEPIDLE, idle_s) &&
                         set(IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, idle_s / probes)) &&
                         set(IPPROTO_TCP, TCP_KEEPCNT, probes))) &&
        set(IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout_ms);
    if (!done) return failed(socket.name(), "TCP keepalive and user timeout", errno);
  }
  return {};
}

Status defer_accept(const Sockets& sockets, const std::string& peer_address) {
  constexpr int silent_max_s = 3;
  for (const BoundSocket& socket : sockets) {
    if (socket.is_unix() || socket.role() != ListenerRole::Http) continue;
    if (may_be_for_peers(socket, peer_address)) continue;
    if (set_number(socket.fd(), IPPROTO_TCP, TCP_DEFER_ACCEPT, silent_max_s) != 0) {
      return failed(socket.name(), "TCP_DEFER_ACCEPT", errno);
    }
  }
  return {};
}

Result<Sockets> bind_sockets(const std::vector<common::Address>& addresses, uint16_t port,
                             const SocketAccess& access) {
  Sockets out;
  Status status;
  if (addresses.empty()) status = bind_everywhere(port, out);
  for (const common::Address& address : addresses) {
    if (!status.ok()) break;
    if (address.kind == common::Address::Kind::Unix) {
      status = bind_unix(address, access, out);
    } else {
      const bool with_ipv4 = !has_ipv4_beside(addresses, address.port);
      status = address.host.empty() ? bind_everywhere(address.port, out)
                                    : bind_host(address, with_ipv4, out);
    }
  }
  if (!status.ok()) return status;
  return out;
}

std::optional<common::IpAddress> ip_of(const sockaddr_storage& client) {
  if (client.ss_family == AF_INET) {
    return common::ip_of_v4(reinterpret_cast<const sockaddr_in&>(client).sin_addr.s_addr);
  }
  if (client.ss_family != AF_INET6) return std::nullopt;
  common::IpAddress address = {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(client);
  std::copy_n(v6.sin6_addr.s6_addr, address.size(), address.begin());
  return address;
}

bool is_local(const sockaddr_storage& client) {
  if (client.ss_family == AF_UNIX) return true;
  if (client.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(client);
    return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  if (client.ss_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(client).sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == IN_LOOPBACKNET;
  return IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace perennial::perenniald
