#include "cmd/perennial/monitor/http_request.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "cmd/common/address.h"
#include "cmd/common/tls/client_stream.h"

namespace perennial::tool {
namespace {

constexpr uint16_t perenniald_http_port = 11380;
constexpr uint16_t http_port = 80;
constexpr uint16_t https_port = 443;
constexpr size_t http_answer_bytes_max = 256 << 10;

// Takes `beginning` off, if the text begins with it.
bool take(std::string_view& text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

// The value of a field of the head, or nothing. Names are written as perenniald writes them.
std::optional<std::string_view> field_of(std::string_view head, std::string_view name) {
  const std::string wanted = fmt::format("\r\n{}: ", name);
  const size_t at = head.find(wanted);
  if (at == std::string_view::npos) return std::nullopt;
  head.remove_prefix(at + wanted.size());
  return head.substr(0, head.find("\r\n"));
}

Status limit_waits(int fd, std::chrono::milliseconds limit) {
  const timeval time{.tv_sec = limit.count() / 1000,
                     .tv_usec = static_cast<suseconds_t>(limit.count() % 1000) * 1000};
  for (const int which : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (::setsockopt(fd, SOL_SOCKET, which, &time, sizeof time) != 0)
      return common::system_error("limit the wait for the server");
  }
  return {};
}

Status moved(const common::ClientStream& stream, const char* doing) {
  if (errno == EAGAIN) return {StatusCode::Io, "the server does not answer"};
  return stream.error(doing);
}

Status send_all(common::ClientStream& stream, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = stream.send(bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return moved(stream, "send");
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return {};
}

Result<std::string> receive_all(common::ClientStream& stream) {
  std::string bytes;
  std::array<char, 16 << 10> piece;
  while (bytes.size() < http_answer_bytes_max) {
    const ssize_t count = stream.recv(piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return moved(stream, "receive");
    if (count == 0) return bytes;
    bytes.append(piece.data(), static_cast<size_t>(count));
  }
  return Status(StatusCode::Io, "the answer is too long");
}

// A socket has no host. The server asks nobody for the host of a question about its health.
std::string host_of(const HttpPlace& place) {
  return place.address.starts_with("unix:") ? "localhost" : place.address;
}

}  // namespace

std::string HttpPlace::text() const {
  if (address.starts_with("unix:")) return address;
  return fmt::format("{}://{}{}", is_tls ? "https" : "http", address, path);
}

Result<HttpPlace> parse_http_place(std::string_view text) {
  HttpPlace place = {.address = {}, .path = {}, .default_port = perenniald_http_port};
  std::string_view rest = text;
  place.is_tls = take(rest, "https://");
  const bool is_url = place.is_tls || take(rest, "http://");
  if (is_url) {
    place.default_port = place.is_tls ? https_port : http_port;
    const size_t slash = std::min(rest.find('/'), rest.size());
    place.path = rest.substr(slash);
    rest = rest.substr(0, slash);
  }
  place.address = rest;
  const bool is_socket = rest.starts_with("unix:");
  const Result<common::Address> address = common::parse_address(rest, place.default_port);
  const bool is_host = address.ok() && (is_socket || !address->host.empty());
  const bool has_slash = !is_socket && rest.find('/') != std::string_view::npos;
  if (is_host && !has_slash && !(is_url && is_socket)) return place;
  return Status(
      StatusCode::InvalidArgument,
      fmt::format("'{}' is no HOST:PORT, http://HOST:PORT, https://HOST:PORT or unix:PATH", text));
}

Result<HttpAnswer> parse_http_answer(std::string_view bytes) {
  const Status no_http(StatusCode::Io, "what answers there does not speak HTTP");
  const size_t end = bytes.find("\r\n\r\n");
  std::string_view line = bytes.substr(0, bytes.find("\r\n"));
  if (end == std::string_view::npos || !take(line, "HTTP/1.")) return no_http;
  HttpAnswer answer;
  line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
  const auto number = std::from_chars(line.data(), line.data() + line.size(), answer.status);
  if (number.ec != std::errc() || answer.status < 100 || answer.status > 999) return no_http;
  answer.body = bytes.substr(end + 4);
  const std::optional<std::string_view> length = field_of(bytes.substr(0, end), "Content-Length");
  if (length && *length != fmt::format("{}", answer.body.size()))
    return Status(StatusCode::Io, "the answer was cut off");
  return answer;
}

Result<HttpAnswer> http_get(const HttpPlace& place, const common::TlsClient* tls,
                            std::chrono::milliseconds limit) {
  const Result<common::Address> address = common::parse_address(place.address, place.default_port);
  if (!address.ok()) return address.status();
  Result<common::ClientStream> stream = common::ClientStream::connect(*address, tls, limit);
  if (!stream.ok()) return stream.take_status();
  if (Status limited = limit_waits(stream->fd(), limit); !limited.ok()) return limited;
  const std::string request = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", place.path, host_of(place));
  if (Status sent = send_all(*stream, request); !sent.ok()) return sent;
  const Result<std::string> bytes = receive_all(*stream);
  if (!bytes.ok()) return bytes.status();
  return parse_http_answer(*bytes);
}

}  // namespace perennial::tool
