#include "cmd/common/network.h"

#include <algorithm>
#include <cstring>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include "cmd/common/units.h"

namespace perennial::common {
namespace {

constexpr IpAddress mapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr unsigned mapped_bits = 96;

bool begins_alike(const IpAddress& a, const IpAddress& b, unsigned bits) {
  const size_t whole = bits / 8;
  if (!std::equal(a.begin(), a.begin() + whole, b.begin())) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || (a[whole] ^ b[whole]) >> (8 - rest) == 0;
}

bool is_v4(const IpAddress& address) {
  return begins_alike(address, mapped, mapped_bits);
}

// Without the bits behind the first ones.
IpAddress cut(IpAddress address, unsigned bits) {
  for (size_t i = 0; i < address.size(); ++i) {
    const unsigned kept = std::clamp<unsigned>(bits, i * 8, i * 8 + 8) - i * 8;
    address[i] &= static_cast<uint8_t>(0xff00 >> kept);
  }
  return address;
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  // inet_pton() would read a text up to its first NUL.
  if (text.find('\0') != std::string_view::npos) return std::nullopt;
  const std::string copy(text);
  IpAddress address = mapped;
  if (::inet_pton(AF_INET, copy.c_str(), address.data() + mapped_bits / 8) == 1) return address;
  if (::inet_pton(AF_INET6, copy.c_str(), address.data()) == 1) return address;
  return std::nullopt;
}

bool is_ipv4(std::string_view text) {
  return text.find(':') == std::string_view::npos && parse_ip(text).has_value();
}

IpAddress ip_of_v4(uint32_t address) {
  IpAddress out = mapped;
  std::memcpy(out.data() + mapped_bits / 8, &address, sizeof address);
  return out;
}

std::string to_text(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (is_v4(address)) return ::inet_ntop(AF_INET, address.data() + 12, text, sizeof text);
  return ::inet_ntop(AF_INET6, address.data(), text, sizeof text);
}

bool is_local(const IpAddress& address) {
  constexpr IpAddress v6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return address == v6 || (is_v4(address) && address[12] == 127);
}

IpAddress client_network(const IpAddress& address) {
  return is_v4(address) ? address : cut(address, 64);
}

bool Network::holds(const IpAddress& other) const {
  return begins_alike(address, other, bits);
}

Result<Network> parse_network(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return Status(StatusCode::InvalidArgument, fmt::format("'{}' {}", text, why));
  };
  const size_t slash = text.find('/');
  const std::optional<IpAddress> address = parse_ip(text.substr(0, slash));
  if (!address) return bad("is no address in numbers, and no network such as 10.0.0.0/8");
  if (slash == std::string_view::npos) return Network{.address = *address};
  const Result<uint64_t> written = parse_count(text.substr(slash + 1));
  const unsigned before = is_v4(*address) ? mapped_bits : 0;
  const unsigned bits_max = 128 - before;
  if (!written.ok() || *written > bits_max) {
    return bad(fmt::format("has no number from 1 to {} behind its '/'", bits_max));
  }
  if (*written == 0) return bad("is everybody");
  const Network network = {.address = *address, .bits = static_cast<unsigned>(*written) + before};
  if (const IpAddress first = cut(*address, network.bits); first != *address) {
    return bad(fmt::format("is an address within a network: {}/{}", to_text(first), *written));
  }
  return network;
}

}  // namespace perennial::common
