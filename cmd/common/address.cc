#include "cmd/common/address.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "cmd/common/units.h"

namespace perennial::common {
namespace {

constexpr std::string_view unix_prefix = "unix:";
constexpr size_t path_bytes_max = sizeof(sockaddr_un::sun_path) - 1;
constexpr uint64_t port_max = 65'535;

Status bad(std::string message) {
  return {StatusCode::InvalidArgument, std::move(message)};
}

Result<Address> parse_unix(std::string_view path) {
  if (path.empty()) return bad("'unix:' needs the path of a socket behind it");
  if (path.size() > path_bytes_max) {
    return bad(fmt::format("'{}' is too long for a socket's path: {} bytes, at most {}", path,
                           path.size(), path_bytes_max));
  }
  return Address{.kind = Address::Kind::Unix, .host = {}, .port = 0, .path = std::string(path)};
}

// Splits "HOST:PORT" into its parts. An IPv6 number contains colons, so a port needs brackets
// there.
Status split(std::string_view text, std::string_view& host, std::string_view& port) {
  const size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return bad(fmt::format("'{}' lacks its ']'", text));
    host = text.substr(1, bracket - 1);
    const std::string_view rest = text.substr(bracket + 1);
    if (host.empty()) return bad(fmt::format("'{}' has nothing between its brackets", text));
    if (rest.empty()) return {};
    if (rest.front() != ':') return bad(fmt::format("'{}' has '{}' behind its ']'", text, rest));
    port = rest.substr(1);
    return port.empty() ? bad(fmt::format("'{}' has no port behind its ':'", text)) : Status();
  }
  host = text.substr(0, colon);
  if (colon == std::string_view::npos) return {};
  if (text.find(':') != colon) {
    host = text;
    return {};
  }
  port = text.substr(colon + 1);
  return port.empty() ? bad(fmt::format("'{}' has no port behind its ':'", text)) : Status();
}

}  // namespace

Result<uint16_t> parse_port(std::string_view text) {
  const Result<uint64_t> number = parse_count(text);
  if (number.ok() && *number <= port_max) return static_cast<uint16_t>(*number);
  if (!number.ok()) {
    const servent* service = getservbyname(std::string(text).c_str(), "tcp");
    if (service != nullptr) return ntohs(static_cast<uint16_t>(service->s_port));
  }
  return bad(fmt::format("'{}' is no port: a number from 0 to {}, or a TCP service of this machine",
                         text, port_max));
}

Result<Address> parse_address(std::string_view text, uint16_t port) {
  if (text.starts_with(unix_prefix)) return parse_unix(text.substr(unix_prefix.size()));
  if (text.empty()) return bad("an address is empty");
  if (text.find_first_of("/ \t") != std::string_view::npos) {
    return bad(fmt::format("'{}' is no address: HOST, HOST:PORT, [IPV6]:PORT or unix:PATH", text));
  }
  std::string_view host;
  std::string_view port_text;
  if (Status status = split(text, host, port_text); !status.ok()) return status;
  Address address{
      .kind = Address::Kind::Internet, .host = std::string(host), .port = port, .path = {}};
  if (!port_text.empty()) {
    const Result<uint16_t> parsed = parse_port(port_text);
    if (!parsed.ok()) return parsed.status();
    address.port = *parsed;
  }
  return address;
}

std::string to_text(const Address& address) {
  if (address.kind == Address::Kind::Unix) return "unix:" + address.path;
  const bool brackets = address.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(brackets ? "[{}]:{}" : "{}:{}"), address.host, address.port);
}

bool is_local(const Address& address) {
  return address.kind == Address::Kind::Unix || address.host == "localhost" ||
         address.host == "::1" || address.host.starts_with("127.");
}

}  // namespace perennial::common
