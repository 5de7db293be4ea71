#pragma once

#include <string>
#include <string_view>

#include "engine/types/status.h"

namespace perennial::support {

inline constexpr int reply_timeout_ms = 10'000;

// A blocking client connection for tests, which sends any bytes and reads complete replies. Owns
// its descriptor. The only thing that it knows about the protocol is where a reply ends (RESERVED,
// FOUND and OK carry bytes), so it works with perenniald and beanstalkd.
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

  // Sends all bytes. Io: the peer has closed.
  Status send(std::string_view bytes);
  // Reads one complete reply with its body and CRLFs. NotFound: it did not arrive in time; what has
  // arrived is kept for the next call. Io: the connection ended first.
  Result<std::string> read_reply(int timeout_ms = reply_timeout_ms);
  // Reads exactly `count` bytes. Fails like read_reply().
  Result<std::string> read_bytes(size_t count, int timeout_ms = reply_timeout_ms);
  // Reads until the peer closes. NotFound: it did not close in time.
  Result<std::string> read_to_end(int timeout_ms = reply_timeout_ms);
  // send(), then read_reply().
  Result<std::string> ask(std::string_view bytes, int timeout_ms = reply_timeout_ms);

  // Half-closes the connection: the peer sees the end of input and can still answer.
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
  std::string pending_;  // Bytes that arrived and were not requested yet.
};

// The end of the first reply in `bytes`, or 0 if it is not complete.
size_t reply_end(std::string_view bytes);

}  // namespace perennial::support
