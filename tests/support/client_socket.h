#pragma once

#include <string>
#include <string_view>

#include "engine/types/status.h"

namespace perennial::support {

inline constexpr int reply_timeout_ms = 10'000;

// A blocking client connection for tests: sends any bytes and reads whole replies. Owns its
// descriptor. It knows where a reply ends (RESERVED, FOUND and OK carry bytes) and nothing else
// about the protocol, so it serves ours and beanstalkd's alike.
class ClientSocket {
 public:
  ClientSocket() = default;
  ClientSocket(ClientSocket&& other) noexcept { swap(other); }
  ClientSocket& operator=(ClientSocket&& other) noexcept {
    swap(other);
    return *this;
  }
  ~ClientSocket() { close(); }

  // `address` is HOST:PORT with a numeric IPv4 host, or unix:PATH.
  static Result<ClientSocket> connect(std::string_view address);

  // Sends all of it. Io when the other side is gone.
  Status send(std::string_view bytes);
  // One reply with everything that belongs to it, CRLFs included. NotFound when it did not come in
  // time, with what did come kept for the next call; Io when the connection ended first.
  Result<std::string> read_reply(int timeout_ms = reply_timeout_ms);
  // Exactly `count` bytes; fails as read_reply does.
  Result<std::string> read_bytes(size_t count, int timeout_ms = reply_timeout_ms);
  // Everything until the other side closes. NotFound when it has not in time.
  Result<std::string> read_to_end(int timeout_ms = reply_timeout_ms);
  // send, then read_reply.
  Result<std::string> ask(std::string_view bytes, int timeout_ms = reply_timeout_ms);

  // Half-close: the other side sees the end of input and can still answer.
  void shutdown_write();
  void close();
  bool is_open() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  explicit ClientSocket(int fd) : fd_(fd) {}
  void swap(ClientSocket& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(pending_, other.pending_);
  }
  Status fill(int64_t deadline_ms);

  int fd_ = -1;
  std::string pending_;  // Arrived and not yet asked for.
};

// Where the first reply in `bytes` ends, or 0 when it is not complete.
size_t reply_end(std::string_view bytes);

}  // namespace perennial::support
