#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/types/status.h"

namespace perennial::common {

// An address of the Internet without a port. One of IPv4 is kept as IPv6 maps it: ::ffff:10.0.0.5.
using IpAddress = std::array<uint8_t, 16>;

// Parses a number such as 10.0.0.5 or fd00::5, without brackets. None: it is something else.
std::optional<IpAddress> parse_ip(std::string_view text);
// Whether it is a number of IPv4 as a person writes it: 10.0.0.5.
bool is_ipv4(std::string_view text);
// REQUIRES: `address` is in the order of the network, as in in_addr.
IpAddress ip_of_v4(uint32_t address);
std::string to_text(const IpAddress& address);

// 127.0.0.0/8 or ::1: what only this machine has.
bool is_local(const IpAddress& address);

// The address by which a client is limited. Of IPv6 the first 64 bits: one client may have all
// addresses of such a network.
IpAddress client_network(const IpAddress& address);

// The addresses that begin with the same bits.
struct Network {
  IpAddress address = {};
  unsigned bits = 128;  // Of IPv4 96 more than are written.

  bool holds(const IpAddress& other) const;
};

// Parses 10.0.0.5, 10.0.0.0/8, fd00::5 or fd00::/8. InvalidArgument: it is neither an address nor a
// network, or the address is one within the network, or the network is the whole Internet.
Result<Network> parse_network(std::string_view text);

}  // namespace perennial::common
