#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <netinet/in.h>

#include "wire/client.h"

namespace perennial::oracle {

sockaddr_in loopback(uint16_t port);

// One client connection, blocking, that gives replies as the bytes in which they came.
class Peer {
 public:
  Peer() = default;  // Not connected.
  explicit Peer(uint16_t port);
  ~Peer();
  Peer(Peer&& other) noexcept;
  Peer& operator=(Peer&& other) noexcept;

  bool connected() const { return fd_ >= 0; }
  void send(std::string_view bytes);
  // Says that nothing more will be sent; replies still come.
  void end_input();

  // The next reply; "<closed>" if the server hung up, "<garbage: ...>" if it is none. None if
  // nothing whole came in time.
  std::optional<std::string> reply_within(std::chrono::milliseconds time);
  // The same, with "<silence>" if nothing whole came in a time that is enough for anything.
  std::string reply();

 private:
  std::optional<std::string> take_reply();
  // Whether more bytes, or the end of them, came in time.
  bool receive(std::chrono::milliseconds time);

  int fd_ = -1;
  bool ended_ = false;    // By the server.
  std::string received_;  // Not yet looked at.
  std::string reply_;     // The beginning of the next reply.
  wire::ReplyParser parser_;
};

}  // namespace perennial::oracle
