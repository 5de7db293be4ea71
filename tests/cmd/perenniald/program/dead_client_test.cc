// Clients that disappear without closing: their machine lost its power or its network.

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

// The client uses TCP: a client of a unix socket cannot disappear without a close.
class DeadClient : public testing::Test {
 protected:
  void start(const std::string& config) {
    std::ofstream(server_.dir() + "/config") << config;
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
  }

  ServerProcess server_{{.flags = {"--config", "config"}}};
};

// Closes the socket without sending anything, so that the server does not learn of it.
bool close_silently(ClientSocket& client) {
  const int on = 1;
  if (setsockopt(client.fd(), IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) != 0) return false;
  client.close();
  return true;
}

TEST_F(DeadClient, ItsReservationsAreReleased) {
  start("tcp_keepalive_s: 1\n");
  ClientSocket other = server_.connect();
  ASSERT_EQ(other.ask("put 0 0 3600 1\r\na\r\n").take(), "INSERTED 1\r\n");
  ClientSocket client = server_.connect();
  ASSERT_EQ(client.ask("reserve\r\n").take(), "RESERVED 1 1\r\na\r\n");
  if (!close_silently(client))
    GTEST_SKIP() << "TCP_REPAIR needs CAP_NET_ADMIN: " << std::strerror(errno);
  EXPECT_EQ(other.ask("reserve-with-timeout 10\r\n", 20'000).take(), "RESERVED 1 1\r\na\r\n");
}

// The server does not read this client, because a command waits and its pipeline is full.
TEST_F(DeadClient, ItsReservationsAreReleasedAfterAFullPipeline) {
  start("tcp_keepalive_s: 1\npipeline_bytes_max: 1KiB\n");
  ClientSocket other = server_.connect();
  ASSERT_EQ(other.ask("put 0 0 3600 1\r\na\r\n").take(), "INSERTED 1\r\n");
  ClientSocket client = server_.connect();
  ASSERT_EQ(client.ask("reserve\r\n").take(), "RESERVED 1 1\r\na\r\n");
  std::string commands = "reserve\r\n";
  for (int i = 0; i < 1'000; ++i) commands += "list-tube-used\r\n";
  ASSERT_TRUE(client.send(commands).ok());
  const auto waiting = [&] {
    return other.ask("stats\r\n").take().find("\ncurrent-waiting: 1\n") != std::string::npos;
  };
  for (int i = 0; i < 100'000 && !waiting(); ++i) continue;
  ASSERT_TRUE(waiting());
  if (!close_silently(client))
    GTEST_SKIP() << "TCP_REPAIR needs CAP_NET_ADMIN: " << std::strerror(errno);
  EXPECT_EQ(other.ask("reserve-with-timeout 10\r\n", 20'000).take(), "RESERVED 1 1\r\na\r\n");
}

// The client is there, but its window is closed, and its reservations keep jobs from other clients.
TEST_F(DeadClient, AClientThatDoesNotReadIsClosedIfConfigured) {
  start("tcp_user_timeout_s: 1\n");
  ClientSocket other = server_.connect();
  const std::string body(60'000, 'x');
  ASSERT_EQ(other.ask(fmt::format("put 0 0 3600 {}\r\n{}\r\n", body.size(), body)).take(),
            "INSERTED 1\r\n");
  ClientSocket client = server_.connect();
  std::string peeks;
  for (int i = 0; i < 500; ++i) peeks += "peek 1\r\n";
  ASSERT_TRUE(client.send(peeks).ok());
  const auto connections = [&] {
    const std::string stats = other.ask("stats\r\n").take();
    return stats.substr(stats.find("\ncurrent-connections: ") + 22, 2);
  };
  // The server may read what one client sends before it accepts another.
  for (int i = 0; i < 100'000 && connections() != "2\n"; ++i) continue;
  EXPECT_EQ(connections(), "2\n");
  for (int i = 0; i < 200 && connections() != "1\n"; ++i) usleep(100'000);
  EXPECT_EQ(connections(), "1\n");
}

}  // namespace
}  // namespace perennial::support
