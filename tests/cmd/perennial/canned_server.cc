#include "tests/cmd/perennial/canned_server.h"

#include <array>
#include <utility>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::support {

CannedServer::CannedServer(std::string answer)
    : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof here;
  CHECK(::bind(listener_, reinterpret_cast<const sockaddr*>(&here), size) == 0);
  CHECK(::listen(listener_, 8) == 0);
  CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &size) == 0);
  address_ = fmt::format("127.0.0.1:{}", ntohs(here.sin_port));
  thread_ = std::thread([this] { serve(); });
}

CannedServer::~CannedServer() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

void CannedServer::serve() {
  for (;;) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) return;
    std::array<char, 4096> bytes;
    if (::recv(client, bytes.data(), bytes.size(), 0) > 0) {
      ::send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      while (::recv(client, bytes.data(), bytes.size(), 0) > 0) continue;
    }
    ::close(client);
  }
}

}  // namespace perennial::support
