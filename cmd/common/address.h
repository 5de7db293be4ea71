#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"

namespace perennial::common {

// An address to listen on or to connect to, as it was written. No name has been looked up.
struct Address {
  enum class Kind : uint8_t { Internet, Unix };
  Kind kind = Kind::Internet;
  std::string host;   // A name or a number without brackets. Empty means every interface.
  uint16_t port = 0;  // For a listener 0 means any free port.
  std::string path;   // Unix only.
};

// The default port of the server and the tools, which is beanstalkd's.
inline constexpr uint16_t default_port = 11300;
// The same where TLS is spoken. Clients that know beanstalks:// use it, too.
inline constexpr uint16_t default_tls_port = 11400;

// Parses the number of a port, from 0 to 65535, or the name of a TCP service of this machine
// (/etc/services). InvalidArgument: it is neither.
Result<uint16_t> parse_port(std::string_view text);

// Parses HOST, HOST:PORT, [IPV6], [IPV6]:PORT, IPV6, or unix:PATH. HOST is a name or a number.
// `port` is used where the text has none. An empty HOST, as in ":11300", means every interface.
// InvalidArgument: the text is not an address.
Result<Address> parse_address(std::string_view text, uint16_t port);

// Whether only this machine reaches it: a unix socket, "localhost", 127.0.0.0/8 or ::1.
bool is_local(const Address& address);

// Returns the text that parse_address reads as this address.
std::string to_text(const Address& address);

}  // namespace perennial::common
