// Sockets from the service manager, and the messages that it gets.

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/support/log_with.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

using testing::HasSubstr;
using testing::Not;

// A socket as a service manager creates it.
class Passed {
 public:
  Passed(int family, int type) : fd_(socket(family, type | SOCK_CLOEXEC, 0)) { CHECK(fd_ >= 0); }
  ~Passed() { close(fd_); }
  Passed(const Passed&) = delete;
  Passed& operator=(const Passed&) = delete;
  int fd() const { return fd_; }

  std::string on_loopback() {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof here;
    CHECK(bind(fd_, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
    CHECK(getsockname(fd_, reinterpret_cast<sockaddr*>(&here), &length) == 0);
    return fmt::format("127.0.0.1:{}", ntohs(here.sin_port));
  }
  std::string at(const std::string& path) {
    sockaddr_un here{};
    here.sun_family = AF_UNIX;
    path.copy(here.sun_path, sizeof here.sun_path - 1);
    CHECK(bind(fd_, reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0);
    return "unix:" + path;
  }
  void take_clients() { CHECK(listen(fd_, 16) == 0); }

 private:
  int fd_;
};

std::string ask_at(const std::string& address, const std::string& text) {
  Result<ClientSocket> client = ClientSocket::connect(address);
  CHECK(client.ok());
  Result<std::string> reply = client->ask(text, 30'000);
  return reply.ok() ? *reply : reply.status().message();
}

TEST(Activation, EverySocketServes) {
  TempDir dir;
  Passed tcp(AF_INET, SOCK_STREAM);
  Passed local(AF_UNIX, SOCK_STREAM);
  const std::string first = tcp.on_loopback();
  const std::string second = local.at(dir.path() + "/s");
  tcp.take_clients();
  local.take_clients();
  Launch server(dir.path(), {.flags = {"-b", "data"}, .sockets = {tcp.fd(), local.fd()}});
  EXPECT_EQ(ask_at(first, "put 0 0 9 1\r\na\r\n"), "INSERTED 1\r\n");
  EXPECT_EQ(ask_at(second, "peek 1\r\n"), "FOUND 1 1\r\na\r\n");
  EXPECT_THAT(server.stderr_text(), Not(HasSubstr("level=warning")));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0) << server.stderr_text();
  // The socket file belongs to the service manager.
  EXPECT_EQ(access((dir.path() + "/s").c_str(), F_OK), 0);
}

// systemd's own program creates the sockets, and starts the server when the first client connects.
TEST(Activation, BySystemdSocketActivate) {
  if (std::system("command -v systemd-socket-activate >/dev/null") != 0) {
    GTEST_SKIP() << "systemd-socket-activate is not installed";
  }
  TempDir dir;
  const std::string first = fmt::format("127.0.0.1:{}", pick_port());
  const std::string second = dir.path() + "/s";
  Launch server(dir.path(),
                {.flags = {"-b", "data"},
                 .shell = fmt::format("exec systemd-socket-activate -l {} -l {} \"$0\" \"$@\"",
                                      first, second)});
  Result<ClientSocket> client = server.connect(first);
  ASSERT_TRUE(client.ok()) << client.status().message();
  EXPECT_EQ(client->ask("put 0 0 9 1\r\na\r\n", 30'000).take(), "INSERTED 1\r\n");
  EXPECT_EQ(ask_at("unix:" + second, "peek 1\r\n"), "FOUND 1 1\r\na\r\n");
  EXPECT_THAT(server.stderr_text(), Not(HasSubstr("level=warning")));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0) << server.stderr_text();
}

TEST(Activation, PassedSocketsOverrideTheFlags) {
  TempDir dir;
  Passed tcp(AF_INET, SOCK_STREAM);
  const std::string address = tcp.on_loopback();
  tcp.take_clients();
  Launch server(dir.path(), {.flags = {"-b", "data", "-l", "unix:other"}, .sockets = {tcp.fd()}});
  EXPECT_EQ(ask_at(address, "list-tube-used\r\n"), "USING default\r\n");
  const std::string ignored = "level=info at=listen ignored=";
  EXPECT_THAT(log_with(server, ignored), HasSubstr(ignored));
  EXPECT_NE(access((dir.path() + "/other").c_str(), F_OK), 0);
}

TEST(Activation, AnUnsupportedSocketEndsWith111) {
  TempDir dir;
  Passed datagrams(AF_INET, SOCK_DGRAM);
  Launch server(dir.path(), {.flags = {"-b", "data"}, .sockets = {datagrams.fd()}});
  EXPECT_EQ(server.wait().code, 111);
  EXPECT_THAT(server.stderr_text(),
              HasSubstr("socket 3 from the service manager is no stream socket"));
}

TEST(Notify, TheServiceManagerGetsEveryPhase) {
  TempDir dir;
  Passed inbox(AF_UNIX, SOCK_DGRAM);
  inbox.at(dir.path() + "/notify");
  const timeval patience{.tv_sec = 30, .tv_usec = 0};
  ASSERT_EQ(setsockopt(inbox.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
  const auto next = [&] {
    char text[512];
    const ssize_t count = recv(inbox.fd(), text, sizeof text, 0);
    return count < 0 ? std::string("nothing came") : std::string(text, static_cast<size_t>(count));
  };
  Launch server(dir.path(), {.flags = {"-b", "data", "-l", "unix:s"},
                             .variables = {{"NOTIFY_SOCKET", dir.path() + "/notify"}}});
  EXPECT_THAT(next(), HasSubstr("EXTEND_TIMEOUT_USEC="));
  EXPECT_THAT(next(), HasSubstr("READY=1"));
  // READY means that the server answers.
  EXPECT_EQ(ask_at("unix:" + dir.path() + "/s", "list-tube-used\r\n"), "USING default\r\n");
  server.signal(SIGTERM);
  EXPECT_THAT(next(), HasSubstr("STOPPING=1"));
  EXPECT_EQ(server.wait().code, 0) << server.stderr_text();
}

}  // namespace
}  // namespace perennial::support
