#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace perennial::wire {

// A foreign protocol on the queue's port. A web page can make a browser send a POST whose body
// holds commands, and a TLS record can be made to hold some; beanstalkd runs them. Such a
// connection must be closed, and none of its bytes may be run as commands. The header of the PROXY
// protocol would be answered as a command, and each later answer would belong to the command before
// its own.
enum class ForeignProtocol : uint8_t { Http, Tls, Proxy };

constexpr std::string_view protocol_name(ForeignProtocol foreign_protocol) {
  switch (foreign_protocol) {
    case ForeignProtocol::Http:
      return "http";
    case ForeignProtocol::Tls:
      return "tls";
    case ForeignProtocol::Proxy:
      return "proxy";
  }
  return "unknown";
}

// Checks the first bytes of a connection. Any split of the bytes gives the same result.
class FirstBytes {
 public:
  // Returns the foreign protocol that the bytes so far begin with, if there is one. Once no foreign
  // protocol is possible any more, decided() is true and take() need not be called.
  std::optional<ForeignProtocol> take(std::string_view bytes);
  bool decided() const { return decided_; }

 private:
  static constexpr size_t bytes_max = 8;  // The length of the longest method and its space.

  std::array<char, bytes_max> bytes_ = {};
  uint8_t count_ = 0;
  bool decided_ = false;
};

// Whether a line is the header that every browser sends in a request: "Host:", in upper or lower
// case.
bool is_host_header(std::string_view line);
// Whether a line is the third with which the header of version 2 of the PROXY protocol begins:
// "\r\n\r\n\0\r\nQUIT\n". The two before it are empty.
bool is_proxy_signature(std::string_view line);

}  // namespace perennial::wire
