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

// One blocking client connection, which returns each reply as the bytes that arrived.
class Peer {
 public:
  Peer() = default;  // Not connected.
  explicit Peer(uint16_t port);
  ~Peer();
  Peer(Peer&& other) noexcept;
  Peer& operator=(Peer&& other) noexcept;

  bool connected() const { return fd_ >= 0; }
  void send(std::string_view bytes);
  // Ends the input of the server. Replies still arrive.
  void end_input();

  // Returns the next reply: "<closed>" if the server has closed, "<garbage: ...>" if the bytes are
  // no reply, and none if no complete reply arrived in time.
  std::optional<std::string> reply_within(std::chrono::milliseconds time);
  // Like reply_within() with a time that is long enough for every reply. Returns "<silence>" if no
  // complete reply arrived.
  std::string reply();

 private:
  std::optional<std::string> take_reply();
  // Whether more bytes, or the end of the stream, arrived in time.
  bool receive(std::chrono::milliseconds time);

  int fd_ = -1;
  bool ended_ = false;    // By the server.
  std::string received_;  // Bytes that are not parsed yet.
  std::string reply_;     // The part of the next reply that has arrived.
  wire::ReplyParser parser_;
};

}  // namespace perennial::oracle
