#include "tests/cmd/perennial/scripted_server.h"

#include <array>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::support {

ScriptedServer::ScriptedServer(std::vector<Turn> turns)
    : turns_(std::move(turns)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  CHECK(::bind(listener_, reinterpret_cast<const sockaddr*>(&here), size) == 0);
  CHECK(::listen(listener_, 1) == 0);
  CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &size) == 0);
  address_ = fmt::format("127.0.0.1:{}", ntohs(here.sin_port));
  thread_ = std::thread([this] { serve(); });
}

ScriptedServer::~ScriptedServer() {
  ::shutdown(listener_, SHUT_RDWR);
  if (thread_.joinable()) thread_.join();
  ::close(listener_);
}

std::string ScriptedServer::heard() {
  thread_.join();
  return unexpected_;
}

void ScriptedServer::serve() {
  const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  std::string line;
  for (const Turn& turn : turns_) {
    const bool came = read_line(client, line);
    if (!came || !line.starts_with(turn.line)) {
      unexpected_ = fmt::format("'{}' where '{}' was due", line, turn.line);
      break;
    }
    if (turn.before) turn.before();
    ::send(client, turn.reply.data(), turn.reply.size(), MSG_NOSIGNAL);
  }
  ::close(client);
}

bool ScriptedServer::read_line(int client, std::string& line) {
  size_t end = input_.find("\r\n");
  while (end == std::string::npos) {
    std::array<char, 4096> bytes;
    const ssize_t count = ::recv(client, bytes.data(), bytes.size(), 0);
    if (count <= 0) {
      line = "the end";
      return false;
    }
    input_.append(bytes.data(), static_cast<size_t>(count));
    end = input_.find("\r\n");
  }
  line = input_.substr(0, end);
  input_.erase(0, end + 2);
  return true;
}

}  // namespace perennial::support
