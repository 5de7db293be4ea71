// How a running server ends, and how it drains.

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/support/log_with.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

using testing::HasSubstr;

TEST(Stop, ASignalEndsItCleanlyAndKeepsEveryJob) {
  for (const int number : {SIGTERM, SIGINT}) {
    ServerProcess server({.unix_socket = true});
    ASSERT_TRUE(server.start().ok()) << server.stderr_text();
    ClientSocket client = server.connect();
    EXPECT_EQ(client.ask("put 1 0 9 5\r\nhello\r\n").take(), "INSERTED 1\r\n");
    server.signal(number);
    EXPECT_EQ(server.wait(30'000)->code, 0) << server.stderr_text();
    EXPECT_EQ(client.read_to_end().take(), "");
    EXPECT_FALSE(std::filesystem::exists(server.dir() + "/socket"));

    ASSERT_TRUE(server.start().ok()) << server.stderr_text();
    client = server.connect();
    EXPECT_EQ(client.ask("peek-ready\r\n").take(), "FOUND 1 5\r\nhello\r\n");
    // The next id is exact after a clean stop, and not one block of ids higher.
    EXPECT_EQ(client.ask("put 1 0 9 1\r\nb\r\n").take(), "INSERTED 2\r\n");
  }
}

TEST(Stop, AcceptedCommandsAreAnswered) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  std::string puts;
  for (int i = 0; i < 2'000; ++i) puts += "put 0 0 9 1\r\na\r\n";
  ASSERT_TRUE(client.send(puts).ok());
  // The first answer shows that the server has begun to run the commands.
  ASSERT_EQ(client.read_reply().take(), "INSERTED 1\r\n");
  ASSERT_EQ(server.terminate()->code, 0) << server.stderr_text();
  const std::string rest = client.read_to_end().take();
  const auto answered = 1 + std::count(rest.begin(), rest.end(), '\n');
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  const std::string recovered = fmt::format("at=store.recovered ready={} ", answered);
  EXPECT_THAT(log_with(server, recovered), HasSubstr(recovered));
}

TEST(Stop, DoesNotWaitForAClientThatDoesNotRead) {
  ServerProcess server({.flags = {"-z", "4MiB"}});
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  const std::string body(4 << 20, 'x');
  ASSERT_EQ(client.ask(fmt::format("put 0 0 9 {}\r\n{}\r\n", body.size(), body)).take(),
            "INSERTED 1\r\n");
  std::string peeks;
  for (int i = 0; i < 20; ++i) peeks += "peek 1\r\n";
  ASSERT_TRUE(client.send(peeks).ok());
  ASSERT_TRUE(client.read_bytes(1).ok());
  EXPECT_EQ(server.terminate()->code, 0) << server.stderr_text();
}

TEST(Stop, IsCleanAtAnyMomentOfAStart) {
  TempDir dir;
  ServerProcess server({.flags = {"-b", dir.path() + "/data"}});
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ASSERT_EQ(server.connect().ask("put 0 0 9 1\r\na\r\n").take(), "INSERTED 1\r\n");
  ASSERT_TRUE(server.kill_now().ok());
  for (int ms = 0; ms < 60; ms += 4) {
    Launch start(dir.path(), {.flags = {"-b", "data", "-l", "unix:s"}});
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    start.signal(SIGTERM);
    const Ended ended = start.wait();
    // The signal ends the process before it is handled; after that the stop is clean at any moment.
    EXPECT_TRUE(ended.code == 0 || ended.signal == SIGTERM) << ms << start.stderr_text();
  }
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  EXPECT_EQ(server.connect().ask("peek 1\r\n").take(), "FOUND 1 1\r\na\r\n");
}

TEST(Drain, RefusesPutsOnly) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok()) << server.stderr_text();
  ClientSocket client = server.connect();
  EXPECT_EQ(client.ask("put 0 0 9 1\r\na\r\n").take(), "INSERTED 1\r\n");
  server.signal(SIGUSR1);
  // The signal is handled in a later turn. From then on all puts are refused.
  std::string answer;
  for (int i = 0; i < 1'000 && answer != "DRAINING\r\n"; ++i) {
    answer = client.ask("put 0 0 9 1\r\nb\r\n").take();
  }
  EXPECT_EQ(answer, "DRAINING\r\n");
  EXPECT_EQ(client.ask("put 0 0 9 1\r\nb\r\n").take(), "DRAINING\r\n");
  EXPECT_EQ(client.ask("reserve\r\n").take(), "RESERVED 1 1\r\na\r\n");
  EXPECT_THAT(client.ask("stats\r\n").take(), HasSubstr("\ndraining: true\n"));
  EXPECT_EQ(client.ask("delete 1\r\n").take(), "DELETED\r\n");
  EXPECT_EQ(server.terminate()->code, 0);
}

}  // namespace
}  // namespace perennial::support
