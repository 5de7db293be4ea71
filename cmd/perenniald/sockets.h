#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "cmd/common/address.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// A bound socket, not yet listening unless it came from systemd. Owns its descriptor; a socket file
// that it made goes with it, unless somebody has put another in its place.
class BoundSocket {
 public:
  BoundSocket(int fd, bool is_unix, std::string path);
  BoundSocket(BoundSocket&& other) noexcept;
  BoundSocket& operator=(BoundSocket&&) = delete;
  ~BoundSocket();

  int fd() const { return fd_; }
  bool is_unix() const { return is_unix_; }
  // Begins to take clients. A port that another process took meanwhile shows here.
  Status listen();
  // Where it is, as parse_address reads it; the real port where any was asked for.
  std::string name() const;

 private:
  int fd_;
  bool is_unix_;
  std::string path_;  // Of the socket file to remove; empty if it is not ours.
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// Binds all addresses; none means every interface, both families, at `port`. A name is bound at
// every address that it has.
Result<std::vector<BoundSocket>> bind_sockets(const std::vector<common::Address>& addresses,
                                              uint16_t port);

// Where a connected socket's other side is, as BoundSocket::name() writes it.
std::string peer_name(int fd);

// What every listening socket needs, also one from systemd. Clients inherit it.
Status prepare_listener(int fd, bool is_unix);

}  // namespace perennial::perenniald
