#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>

#include "cmd/common/address.h"
#include "cmd/perenniald/net/listener_role.h"
#include "cmd/perenniald/net/socket_file.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// A bound socket, not yet listening unless it came from systemd. Owns its descriptor, and the
// socket file that it made.
class BoundSocket {
 public:
  BoundSocket(int fd, bool is_unix, std::optional<SocketFile> file = std::nullopt,
              ListenerRole role = ListenerRole::Queue);
  BoundSocket(BoundSocket&& other) noexcept;
  BoundSocket& operator=(BoundSocket&&) = delete;
  ~BoundSocket();

  int fd() const { return fd_; }
  bool is_unix() const { return is_unix_; }
  ListenerRole role() const { return role_; }
  // Begins to take clients. A port that another process took meanwhile, and a socket file that it
  // removed or replaced, show here.
  Status listen();
  // Where it is, as parse_address reads it; the real port where any was asked for.
  std::string name() const;

 private:
  int fd_;
  bool is_unix_;
  ListenerRole role_;
  std::optional<SocketFile> file_;
};

// Binds all addresses; none means every interface, both families, at `port`. A name is bound at
// every address that it has.
Result<std::vector<BoundSocket>> bind_sockets(const std::vector<common::Address>& addresses,
                                              uint16_t port);

// Where a connected socket's other side is, as BoundSocket::name() writes it.
std::string peer_name(int fd);
// Whether a client at this address is on this machine: 127.0.0.0/8, also as IPv6 has it, ::1, or a
// unix socket.
bool is_local(const sockaddr_storage& client);

// When a client that vanished without a word is taken for gone: its reservations go back then.
struct Vanishing {
  // Of silence, in seconds, after which it is asked, four times, a quarter of this apart: it is
  // gone after twice the time. 0: never.
  uint64_t keepalive_s = 0;
  // For which bytes sent to it may stay unacknowledged, in seconds; then it takes the place of the
  // four asks as well, and counts against a client that is there and reads nothing while its window
  // is shut (tcp(7), TCP_USER_TIMEOUT). 0: as the system has it, mostly a quarter of an hour for
  // bytes, and all the time that it wants for a client that reads nothing.
  uint64_t user_timeout_s = 0;
};
// For all clients of these sockets; those of unix sockets cannot vanish. Io: the system refuses.
Status set_vanishing(const std::vector<BoundSocket>& sockets, const Vanishing& vanishing);

// What every listening socket needs, also one from systemd. Clients inherit it.
Status prepare_listener(int fd, bool is_unix);

}  // namespace perennial::perenniald
