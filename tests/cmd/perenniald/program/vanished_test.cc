// Clients that are gone without a word: their machine lost its power, or its network.

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

// A TCP client, and not one of a unix socket, which cannot vanish.
class Vanished : public testing::Test {
 protected:
  void start(const std::string& config) {
    std::ofstream(server_.dir() + "/config") << config;
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
  }

  ServerProcess server_{{.flags = {"--config", "config"}}};
};

// Closes it so that nothing is sent: what is left is a peer that does not know of the connection.
bool vanish(ClientSocket& client) {
  const int on = 1;
  if (setsockopt(client.fd(), IPPROTO_TCP, TCP_REPAIR, &on, sizeof on) != 0) return false;
  client.close();
  return true;
}

TEST_F(Vanished, GivesItsReservationsBack) {
  start("tcp_keepalive_s: 1\n");
  ClientSocket other = server_.connect();
  ASSERT_EQ(other.ask("put 0 0 3600 1\r\na\r\n").take(), "INSERTED 1\r\n");
  ClientSocket client = server_.connect();
  ASSERT_EQ(client.ask("reserve\r\n").take(), "RESERVED 1 1\r\na\r\n");
  if (!vanish(client)) GTEST_SKIP() << "TCP_REPAIR needs CAP_NET_ADMIN: " << std::strerror(errno);
  EXPECT_EQ(other.ask("reserve-with-timeout 10\r\n", 20'000).take(), "RESERVED 1 1\r\na\r\n");
}

// Behind a command that waits and all that is read on behind it nobody reads what it sends.
TEST_F(Vanished, GivesItsReservationsBackBehindAFullPipeline) {
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
  if (!vanish(client)) GTEST_SKIP() << "TCP_REPAIR needs CAP_NET_ADMIN: " << std::strerror(errno);
  EXPECT_EQ(other.ask("reserve-with-timeout 10\r\n", 20'000).take(), "RESERVED 1 1\r\na\r\n");
}

// It is there, but its window is shut, and what waits for it is not its alone to keep.
TEST_F(Vanished, AReaderThatStandsStillIsCutOffIfAsked) {
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
  EXPECT_EQ(connections(), "2\n");
  for (int i = 0; i < 200 && connections() != "1\n"; ++i) usleep(100'000);
  EXPECT_EQ(connections(), "1\n");
}

}  // namespace
}  // namespace perennial::support
