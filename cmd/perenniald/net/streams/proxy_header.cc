#include "cmd/perenniald/net/streams/proxy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "cmd/common/list.h"

namespace perennial::perenniald {
namespace {

using State = ProxyHeaderRead::State;

constexpr std::string_view v1_begin = "PROXY ";
constexpr size_t v1_bytes_max = 107;  // With its CRLF.
constexpr std::string_view v2_begin("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr size_t v2_bytes_min = 16;

bool may_begin(std::string_view bytes, std::string_view begin) {
  return bytes.starts_with(begin) || begin.starts_with(bytes);
}

std::optional<uint16_t> port_of(std::string_view text) {
  uint16_t port = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_port = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return is_port ? std::optional(port) : std::nullopt;
}

ProxyHeader header_of(size_t bytes, const common::IpAddress& address, uint16_t port) {
  const std::string text = common::to_text(address);
  const bool is_v6 = text.find(':') != std::string::npos;
  return {.bytes = bytes,
          .address = address,
          .peer = is_v6 ? fmt::format("[{}]:{}", text, port) : fmt::format("{}:{}", text, port)};
}

// "PROXY TCP4 192.0.2.1 192.0.2.2 4711 11300"
std::optional<ProxyHeader> read_v1_line(std::string_view line) {
  const size_t bytes = line.size() + 2;
  const std::vector<std::string_view> words = common::list_items(line, ' ');
  if (words.size() >= 2 && words[1] == "UNKNOWN") return ProxyHeader{.bytes = bytes};
  if (words.size() != 6 || (words[1] != "TCP4" && words[1] != "TCP6")) return std::nullopt;
  const std::optional<common::IpAddress> from = common::parse_ip(words[2]);
  const std::optional<uint16_t> port = port_of(words[4]);
  const bool is_v6 = words[2].find(':') != std::string_view::npos;
  const bool is_good = from && port && common::parse_ip(words[3]) && port_of(words[5]) &&
                       is_v6 == (words[1] == "TCP6");
  if (!is_good) return std::nullopt;
  return header_of(bytes, *from, *port);
}

ProxyHeaderRead read_v1(std::string_view bytes) {
  const std::string_view head = bytes.substr(0, v1_bytes_max);
  const size_t end = head.find("\r\n");
  if (end == std::string_view::npos) {
    return {.state = bytes.size() < v1_bytes_max ? State::Incomplete : State::None};
  }
  std::optional<ProxyHeader> header = read_v1_line(head.substr(0, end));
  if (!header) return {};
  return {.state = State::Whole, .header = *std::move(header)};
}

uint16_t number_at(std::string_view bytes, size_t at) {
  return static_cast<uint16_t>(static_cast<uint8_t>(bytes[at]) << 8 |
                               static_cast<uint8_t>(bytes[at + 1]));
}

ProxyHeaderRead read_v2(std::string_view bytes) {
  if (bytes.size() < v2_bytes_min) return {.state = State::Incomplete};
  const auto command = static_cast<uint8_t>(bytes[12]);
  const auto family = static_cast<uint8_t>(bytes[13]);
  const size_t size = v2_bytes_min + number_at(bytes, 14);
  constexpr uint8_t local = 0x20;
  constexpr uint8_t proxied = 0x21;
  if ((command != local && command != proxied) || size > proxy_header_bytes_max) return {};
  if (bytes.size() < size) return {.state = State::Incomplete};
  ProxyHeaderRead out = {.state = State::Whole, .header = {.bytes = size}};
  out.header.is_own = command == local;
  if (out.header.is_own) return out;
  const std::string_view addresses = bytes.substr(v2_bytes_min, size - v2_bytes_min);
  constexpr uint8_t tcp_v4 = 0x11;
  constexpr uint8_t tcp_v6 = 0x21;
  if (family == tcp_v4) {
    if (addresses.size() < 12) return {};
    common::IpAddress from = {};
    from[10] = from[11] = 0xff;
    std::copy_n(addresses.begin(), 4, from.begin() + 12);
    out.header = header_of(size, from, number_at(addresses, 8));
  } else if (family == tcp_v6) {
    if (addresses.size() < 36) return {};
    common::IpAddress from = {};
    std::copy_n(addresses.begin(), from.size(), from.begin());
    out.header = header_of(size, from, number_at(addresses, 32));
  }
  return out;  // Of any other family: the proxy does not say for whom.
}

}  // namespace

ProxyHeaderRead read_proxy_header(std::string_view bytes) {
  if (bytes.empty()) return {.state = State::Incomplete};
  if (bytes.starts_with(v1_begin)) return read_v1(bytes);
  if (bytes.starts_with(v2_begin)) return read_v2(bytes);
  const bool may = may_begin(bytes, v1_begin) || may_begin(bytes, v2_begin);
  return {.state = may ? State::Incomplete : State::None};
}

}  // namespace perennial::perenniald
