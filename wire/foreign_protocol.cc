#include "wire/foreign_protocol.h"

#include <algorithm>

namespace perennial::wire {
namespace {

// The methods of RFC 9110, section 9, and RFC 5789.
constexpr std::array<std::string_view, 9> methods = {
    "GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "CONNECT ", "OPTIONS ", "TRACE ", "PATCH "};

// haproxy, proxy-protocol.txt, section 2.1.
constexpr std::string_view proxy_v1 = "PROXY ";

// RFC 8446, section 5.1: the type of a record that holds a handshake.
constexpr char tls_handshake = 0x16;

constexpr char lower(char c) {
  return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::optional<ForeignProtocol> FirstBytes::take(std::string_view bytes) {
  const size_t taken = std::min(bytes.size(), bytes_.size() - count_);
  std::copy_n(bytes.begin(), taken, bytes_.begin() + count_);
  count_ = static_cast<uint8_t>(count_ + taken);
  const std::string_view seen(bytes_.data(), count_);
  decided_ = true;
  if (seen.front() == tls_handshake) return ForeignProtocol::Tls;
  for (const std::string_view method : methods) {
    if (seen.starts_with(method)) return ForeignProtocol::Http;
    if (method.starts_with(seen)) decided_ = false;
  }
  if (seen.starts_with(proxy_v1)) return ForeignProtocol::Proxy;
  if (proxy_v1.starts_with(seen)) decided_ = false;
  return std::nullopt;
}

bool is_proxy_signature(std::string_view line) {
  return line == std::string_view("\0", 1);
}

bool is_host_header(std::string_view line) {
  constexpr std::string_view host = "host:";
  return line.size() >= host.size() &&
         std::equal(host.begin(), host.end(), line.begin(),
                    [](char expected, char c) { return expected == lower(c); });
}

}  // namespace perennial::wire
