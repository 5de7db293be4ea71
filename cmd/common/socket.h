#pragma once

#include <utility>

#include <unistd.h>

#include "cmd/common/address.h"
#include "engine/types/status.h"

namespace perennial::common {

// A descriptor that is closed with its owner.
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

// A blocking connection, without delay of small packets.
Result<Socket> connect_to(const Address& address);

// The text of errno, with what was being done.
Status system_error(const char* doing);

}  // namespace perennial::common
