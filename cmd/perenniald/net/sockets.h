#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "cmd/common/address.h"
#include "cmd/common/network.h"
#include "cmd/perenniald/net/listener_role.h"
#include "cmd/perenniald/net/socket_file.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// A bound socket. It does not listen yet, unless it came from systemd. Owns its descriptor and the
// socket file that it created.
class BoundSocket {
 public:
  BoundSocket(int fd, bool is_unix, std::optional<SocketFile> file = std::nullopt,
              ListenerRole role = ListenerRole::Queue);
  BoundSocket(BoundSocket&& other) noexcept;
  BoundSocket& operator=(BoundSocket&&) = delete;
  ~BoundSocket();

  int fd() const { return fd_; }
  bool is_unix() const { return is_unix_; }
  // Whether only this machine reaches it. REQUIRES: it listens.
  bool is_local() const { return is_local_; }
  ListenerRole role() const { return role_; }
  void set_role(ListenerRole role) { role_ = role; }
  // Which of the setting `listeners` this socket serves. None: an address of `listen`.
  std::optional<size_t> listener() const { return listener_; }
  void set_listener(size_t listener) { listener_ = listener; }
  // Begins to listen. InvalidArgument: another process took the port meanwhile, or removed or
  // replaced the socket file.
  Status listen();
  // Refuses further clients. The socket file stays until this object goes.
  void close();
  // The address, as parse_address reads it; with the real port where any port was asked for.
  std::string name() const;

 private:
  int fd_;
  bool is_unix_;
  bool is_local_;
  ListenerRole role_;
  std::optional<size_t> listener_;
  std::optional<SocketFile> file_;
};

// Binds all addresses. With none it binds every interface, for IPv4 and IPv6, at `port`. A name is
// bound at every address that it has. "::" serves IPv4, too, unless an address of IPv4 with the
// same port is among them. `access`: of the files of unix sockets.
Result<std::vector<BoundSocket>> bind_sockets(const std::vector<common::Address>& addresses,
                                              uint16_t port, const SocketAccess& access = {});

// The address of a connected socket's peer, as BoundSocket::name() writes it.
std::string peer_name(int fd);
// Whether a client at this address is on this machine: 127.0.0.0/8, also as IPv6 writes it, ::1, or
// a unix socket.
bool is_local(const sockaddr_storage& client);
// None: it is no address of the Internet.
std::optional<common::IpAddress> ip_of(const sockaddr_storage& client);

// When a connection whose client no longer answers is closed, which releases its reservations.
struct KeepaliveSettings {
  // Seconds of silence after which the client is probed, four times, at intervals of a quarter of
  // this time. The connection is closed after twice the time. 0: never.
  uint64_t keepalive_s = 0;
  // Seconds for which sent bytes may stay unacknowledged. Then this limit replaces the four probes,
  // too, and it also applies to a client that is there but reads nothing, so that its window is
  // closed (tcp(7), TCP_USER_TIMEOUT). 0: the system's own limits, mostly a quarter of an hour for
  // bytes, and none for a client that reads nothing.
  uint64_t user_timeout_s = 0;
};
// Sets this for all clients of these sockets. Clients of unix sockets do not need it.
// InvalidArgument: the system refuses it.
Status set_keepalive(const std::vector<BoundSocket>& sockets, const KeepaliveSettings& keepalive);

// Has the kernel keep a client of HTTP until it has sent something, or is silent for some seconds
// (tcp(7), TCP_DEFER_ACCEPT). A client that takes a few milliseconds to ask would otherwise give
// way to those that have come to be silent. Not where `peer_address`, HOST:PORT, may lead, which is
// empty outside of a cluster: standbys hold silent connections to that port, by whose end they
// notice that of the process (standby/leader_watch.h). On its way from another machine to a socket
// the port may become another; to one that only this machine reaches it stays the same.
// InvalidArgument: the system refuses it.
Status defer_accept(const std::vector<BoundSocket>& sockets, const std::string& peer_address);

// Sets the options that every listening socket needs, also one from systemd. Clients inherit them.
Status prepare_listener(int fd, bool is_unix);

}  // namespace perennial::perenniald
