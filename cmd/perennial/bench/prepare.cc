#include "cmd/perennial/bench/prepare.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

namespace perennial::bench {
namespace {

constexpr uint32_t tubes_per_round = 100;

Status send_all(const common::Socket& socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return common::system_error("send");
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return {};
}

Status read_lines(const common::Socket& socket, size_t lines) {
  std::array<char, size_t{16} * 1024> input;
  while (lines > 0) {
    const ssize_t got = ::recv(socket.fd(), input.data(), input.size(), 0);
    if (got <= 0) return common::system_error("recv");
    const std::string_view text(input.data(), static_cast<size_t>(got));
    lines -= std::min<size_t>(lines, static_cast<size_t>(std::ranges::count(text, '\n')));
  }
  return {};
}

}  // namespace

Status fill_tubes(const common::Address& server, const PutOptions& options) {
  Result<common::Socket> socket = common::connect_to(server);
  if (!socket.ok()) return socket.take_status();
  const std::string body(options.body_bytes, 'x');
  for (uint32_t first = 0; first < options.tubes; first += tubes_per_round) {
    const uint32_t end = std::min(options.tubes, first + tubes_per_round);
    std::string bytes;
    for (uint32_t tube = first; tube < end; ++tube)
      bytes += fmt::format("use bench-{}\r\nput 1024 0 60 {}\r\n{}\r\n", tube, body.size(), body);
    if (Status s = send_all(*socket, bytes); !s.ok()) return s;
    if (Status s = read_lines(*socket, size_t{2} * (end - first)); !s.ok()) return s;
  }
  return {};
}

Result<std::vector<common::Socket>> open_idle(const common::Address& server, uint32_t count) {
  std::vector<common::Socket> idle;
  for (uint32_t i = 0; i < count; ++i) {
    Result<common::Socket> socket = common::connect_to(server);
    if (!socket.ok()) return std::move(socket.take_status()).with(fmt::format("idle {}", i));
    idle.push_back(socket.take());
  }
  return idle;
}

void allow_many_files() {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace perennial::bench
