#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"

namespace perennial::common {

// Where to listen or to connect, as it was written; no name has been looked up yet.
struct Address {
  enum class Kind : uint8_t { Internet, Unix };
  Kind kind = Kind::Internet;
  std::string host;   // A name or a number without brackets. Empty: every interface.
  uint16_t port = 0;  // 0 when listening: any free one.
  std::string path;   // Unix only.
};

// Protocol and tools use the same default as beanstalkd.
inline constexpr uint16_t default_port = 11300;

// A port's number, or the name of a TCP service of this machine (/etc/services).
Result<uint16_t> parse_port(std::string_view text);

// HOST, HOST:PORT, [IPV6], [IPV6]:PORT, IPV6, or unix:PATH. HOST is a name or a number; without a
// port it is `port`. An empty HOST, as in ":11300", is every interface.
Result<Address> parse_address(std::string_view text, uint16_t port);

// The address as parse_address reads it.
std::string to_text(const Address& address);

}  // namespace perennial::common
