// Limits of connections: clients past them wait, and only the kernel refuses clients.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/support/log_with.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

constexpr int short_ms = 200;
// Descriptors: 64 for the server, 32 for tables, one for the listening socket, and ten for clients.
constexpr int ten_clients = 107;
constexpr const char* question = "list-tube-used\r\n";
constexpr const char* answer = "USING default\r\n";

TEST(ConnectionsMax, AConnectionAtTheLimitIsServedAndOnePastItWaits) {
  ServerProcess server({.flags = {"--config", "perennial.yaml"}});
  std::ofstream(server.dir() + "/perennial.yaml") << "connections_max: 3\n";
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  std::vector<ClientSocket> inside;
  for (int i = 0; i < 3; ++i) {
    inside.push_back(server.connect());
    ASSERT_EQ(inside.back().ask(question).take(), answer);
  }
  ClientSocket waiting = server.connect();
  EXPECT_EQ(waiting.ask(question, short_ms).status().code(), StatusCode::NotFound);
  inside.pop_back();
  EXPECT_EQ(waiting.read_reply().take(), answer);
  EXPECT_EQ(inside.back().ask(question).take(), answer);
}

TEST(ConnectionsMax, FollowsTheLimitOfFileDescriptors) {
  TempDir dir;
  const std::string address = "unix:" + dir.path() + "/s";
  Launch server(dir.path(), {.flags = {"-b", "data", "-l", "unix:s"},
                             .shell = fmt::format("ulimit -n {}", ten_clients)});
  std::vector<ClientSocket> clients;
  while (clients.size() < 20) {
    Result<ClientSocket> client = server.connect(address);
    ASSERT_TRUE(client.ok()) << client.status().message();
    clients.push_back(client.take());
  }
  for (ClientSocket& client : clients) ASSERT_TRUE(client.send(question).ok());
  // Ten clients are connected. The others are accepted as these leave.
  for (size_t i = 0; i < 10; ++i) EXPECT_EQ(clients[i].read_reply().take(), answer) << i;
  EXPECT_EQ(clients[10].read_reply(short_ms).status().code(), StatusCode::NotFound);
  clients.erase(clients.begin(), clients.begin() + 10);
  for (ClientSocket& client : clients) EXPECT_EQ(client.read_reply().take(), answer);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0) << server.stderr_text();
}

// Other programs of the user share fs.epoll.max_user_watches.
void run_out_of_watches(bool on_thread) {
  TempDir dir;
  const std::string address = "unix:" + dir.path() + "/s";
  const std::string used_up = dir.path() + "/used-up";
  Launch server(dir.path(),
                {.flags = {"-b", "data", "-l", "unix:s", "--io-threads", on_thread ? "1" : "0"},
                 .variables = {{"LD_PRELOAD", NO_WATCHES}, {"NO_WATCHES_IF", used_up}}});
  Result<ClientSocket> inside = server.connect(address);
  ASSERT_TRUE(inside.ok()) << inside.status().message();
  ASSERT_EQ(inside->ask(question).take(), answer);
  std::ofstream(used_up).close();
  for (int i = 0; i < 3; ++i) {
    Result<ClientSocket> refused = ClientSocket::connect(address);
    ASSERT_TRUE(refused.ok()) << server.stderr_text();
    EXPECT_EQ(refused->read_to_end().take(), "");
    EXPECT_EQ(inside->ask(question).take(), answer);
  }
  if (!on_thread) {
    const std::string said = "level=warning at=accept error=\"epoll: No space left";
    EXPECT_THAT(log_with(server, said), testing::HasSubstr(said));
  }
  std::filesystem::remove(used_up);
  Result<ClientSocket> next = ClientSocket::connect(address);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->ask(question).take(), answer);
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0) << server.stderr_text();
}

TEST(Watches, RunningOutOfThemCostsAClientAndNotTheServer) {
  run_out_of_watches(false);
}

TEST(Watches, RunningOutOfThemCostsAThreadAClientAndNothingMore) {
  run_out_of_watches(true);
}

TEST(ConnectionsMax, AValueAboveTheDescriptorsIsLowered) {
  TempDir dir;
  Launch server(dir.path(),
                {.flags = {"-b", "data", "-l", "unix:s", "--config", "perennial.yaml"},
                 .shell = fmt::format("echo 'connections_max: 100' >perennial.yaml; ulimit -n {}",
                                      ten_clients)});
  const Result<ClientSocket> client = server.connect("unix:" + dir.path() + "/s");
  ASSERT_TRUE(client.ok()) << client.status().message();
  const std::string said = "level=warning at=connections_max asked=100 using=10";
  EXPECT_THAT(log_with(server, said), testing::HasSubstr(said));
}

TEST(ConnectionsMax, TooFewDescriptorsAreRefused) {
  TempDir dir;
  Launch server(dir.path(), {.flags = {"-b", "data", "-l", "unix:s"},
                             .shell = fmt::format("ulimit -n {}", ten_clients - 3)});
  EXPECT_EQ(server.wait().code, 5);
  EXPECT_THAT(server.stderr_text(), testing::HasSubstr("is 104, and must be at least 105"));
}

}  // namespace
}  // namespace perennial::support
