#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include <unistd.h>

#include "cmd/common/address.h"
#include "engine/types/status.h"

namespace perennial::common {

// Owns a socket's file descriptor and closes it. -1 means none.
class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Opens a blocking connection with TCP_NODELAY. Tries each address of the host for as long as
// `limit` says; without it the kernel's limit holds, which is two minutes. How long the lookup of a
// name takes is up to the system. Io: the connection failed. NotFound: the host has no address.
Result<Socket> connect_to(const Address& address,
                          std::optional<std::chrono::milliseconds> limit = {});

// Whether the other end of a socket is on this machine: a unix socket or a loopback address.
bool is_local_peer(int fd);

// Returns Io with the text of errno. `doing` names what was being done.
Status system_error(const char* doing);

}  // namespace perennial::common
