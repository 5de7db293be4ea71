// A disk that does not answer ends the server. A server that was stopped by a signal does not count
// as stalled, and replies that need no disk are sent meanwhile.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/support/log_with.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

const std::vector<std::string> flags = {"-b", "data", "-l", "unix:s", "--config", "config"};

class Stall : public testing::Test {
 protected:
  void configure(int stall_seconds_max) {
    std::ofstream(dir_.path() + "/config")
        << fmt::format("stall_seconds_max: {}\n", stall_seconds_max);
  }
  Launch::Setup with_slow_syncs(const std::string& delay_us) const {
    return {.flags = flags,
            .variables = {{"LD_PRELOAD", SLOW_SYNC},
                          {"SLOW_SYNC_US", delay_us},
                          {"SLOW_SYNC_IF", dir_.path() + "/slow"}}};
  }
  void slow_down() const { std::ofstream(dir_.path() + "/slow") << ""; }
  void speed_up() const { std::filesystem::remove(dir_.path() + "/slow"); }

  ClientSocket connect(Launch& server) const {
    return server.connect("unix:" + dir_.path() + "/s").take();
  }

  const TempDir dir_;
};

// The watchdog says it while the turn lasts, since the loop itself cannot.
TEST_F(Stall, ATurnThatIsTooLongIsSaidWhileItLasts) {
  std::ofstream(dir_.path() + "/config") << "turn_seconds_max: 1\n";
  Launch server(dir_.path(), {.flags = flags,
                              .variables = {{"LD_PRELOAD", LOOP_STOP},
                                            {"LOOP_STOP_MS", "4000"},
                                            {"LOOP_STOP_IF", dir_.path() + "/slow"}}});
  ClientSocket client = connect(server);
  ASSERT_EQ(client.ask("put 0 0 60 1\r\na\r\n").take(), "INSERTED 1\r\n");
  slow_down();
  ClientSocket other = connect(server);
  ASSERT_TRUE(client.send("use a\r\n").ok());
  bool was_said = false;
  Result<std::string> answer = client.read_reply(1);
  for (; !answer.ok(); answer = client.read_reply(50)) {
    was_said = was_said || server.stderr_text().find("at=loop.turn lasts_s=") != std::string::npos;
  }
  EXPECT_TRUE(was_said);
  EXPECT_EQ(answer.take(), "USING a\r\n");
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0);
  EXPECT_THAT(server.stderr_text(), HasSubstr("at=loop.turn took_ms="));
}

TEST_F(Stall, AThreadThatStandsStillIsNamed) {
  std::ofstream(dir_.path() + "/config") << "turn_seconds_max: 1\nio_threads: 2\nio_uring: false\n";
  Launch server(dir_.path(), {.flags = flags,
                              .variables = {{"LD_PRELOAD", LOOP_STOP},
                                            {"LOOP_STOP_MS", "4000"},
                                            {"THREAD_STOP_IF", dir_.path() + "/slow"}}});
  ClientSocket client = connect(server);
  ASSERT_EQ(client.ask("put 0 0 60 1\r\na\r\n").take(), "INSERTED 1\r\n");
  ClientSocket other = connect(server);  // Of the other thread.
  ASSERT_EQ(other.ask("use b\r\n").take(), "USING b\r\n");
  slow_down();
  ASSERT_TRUE(client.send("use a\r\n").ok());
  ASSERT_FALSE(client.read_reply(2'000).ok());
  EXPECT_EQ(other.ask("use c\r\n").take(), "USING c\r\n") << "others are served meanwhile";
  EXPECT_EQ(client.read_reply(20'000).take(), "USING a\r\n");
  EXPECT_THAT(log_with(server, "at=io.turn thread="),
              ContainsRegex("at=io.turn thread=perennial-io-[01] lasts_s="));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0);
}

TEST_F(Stall, ASyncThatHangsEndsWith70AndNoAnswer) {
  configure(1);
  {
    Launch server(dir_.path(), with_slow_syncs("600000000"));
    ClientSocket client = connect(server);
    ASSERT_EQ(client.ask("put 0 0 60 1\r\na\r\n").take(), "INSERTED 1\r\n");
    slow_down();
    EXPECT_EQ(client.ask("put 0 0 60 1\r\nb\r\n").status().code(), StatusCode::Io);
    EXPECT_EQ(server.wait().code, 70) << server.stderr_text();
    EXPECT_THAT(server.stderr_text(),
                HasSubstr("level=error at=store.stalled exit=70 error=\"a write or a sync has not "
                          "ended for 1 s (stall_seconds_max)\"\n"));
  }
  Launch server(dir_.path(), {.flags = flags});
  EXPECT_EQ(connect(server).ask("peek 1\r\n").take(), "FOUND 1 1\r\na\r\n");
}

// Everything that was promised is on disk, and the next start finds it.
TEST_F(Stall, ACloseThatHangsEndsWith70) {
  configure(1);
  {
    Launch server(dir_.path(), with_slow_syncs("600000000"));
    ClientSocket client = connect(server);
    ASSERT_EQ(client.ask("put 0 0 60 1\r\na\r\n").take(), "INSERTED 1\r\n");
    slow_down();
    server.signal(SIGTERM);
    EXPECT_EQ(server.wait().code, 70) << server.stderr_text();
    EXPECT_THAT(server.stderr_text(), HasSubstr("closing has written nothing for 1 s"));
  }
  Launch server(dir_.path(), {.flags = flags});
  EXPECT_EQ(connect(server).ask("peek 1\r\n").take(), "FOUND 1 1\r\na\r\n");
}

TEST_F(Stall, WithoutALimitASlowSyncIsAwaited) {
  configure(0);
  Launch server(dir_.path(), with_slow_syncs("1500000"));
  ClientSocket client = connect(server);
  slow_down();
  EXPECT_EQ(client.ask("put 0 0 60 1\r\na\r\n").take(), "INSERTED 1\r\n");
}

// RESERVED waits for promised transitions of its own job, not for those of other jobs.
TEST_F(Stall, JobsOnDiskAreReservedDuringASync) {
  constexpr int jobs = 10;
  configure(0);
  Launch server(dir_.path(), with_slow_syncs("600000000"));
  ClientSocket worker = connect(server);
  for (int i = 1; i <= jobs; ++i) {
    ASSERT_EQ(worker.ask("put 0 0 60 1\r\na\r\n").take(), fmt::format("INSERTED {}\r\n", i));
  }
  slow_down();
  ClientSocket producer = connect(server);
  ASSERT_TRUE(producer.send("put 0 0 60 1\r\nb\r\n").ok());
  // The first may come before the put. Those after it do not.
  for (int i = 1; i <= jobs; ++i) {
    ASSERT_EQ(worker.ask("reserve\r\n").take(), fmt::format("RESERVED {} 1\r\na\r\n", i));
  }
}

// The process is stopped during a sync, for longer than a sync may take. STOP_SECONDS makes it
// longer still.
TEST_F(Stall, AStoppedServerDoesNotCountAsStalled) {
  const char* const wanted = ::getenv("STOP_SECONDS");
  const int stop_s = wanted != nullptr ? std::atoi(wanted) : 3;
  constexpr int puts = 2'000;
  configure(2);
  Launch server(dir_.path(), with_slow_syncs("20000"));
  ClientSocket client = connect(server);
  slow_down();
  // One command at a time, so that there are many syncs during which the server may be stopped.
  std::thread load([&client] {
    for (int i = 1; i <= 100; ++i) {
      EXPECT_EQ(client.ask("put 0 0 60 1\r\na\r\n", 120'000).take(),
                fmt::format("INSERTED {}\r\n", i));
    }
  });
  for (int stops = 0; stops < 2; ++stops) {
    usleep(500'000);
    server.signal(SIGSTOP);
    sleep(static_cast<unsigned>(stop_s));
    server.signal(SIGCONT);
  }
  load.join();
  speed_up();
  std::string many;
  for (int i = 0; i < puts; ++i) many += "put 0 0 60 1\r\nb\r\n";
  ASSERT_TRUE(client.send(many).ok());
  for (int i = 1; i <= puts; ++i) {
    ASSERT_EQ(client.read_reply().take(), fmt::format("INSERTED {}\r\n", 100 + i));
  }
  EXPECT_THAT(client.ask("stats\r\n").take(), HasSubstr("\ncurrent-jobs-ready: 2100\n"));
  server.signal(SIGTERM);
  EXPECT_EQ(server.wait().code, 0) << server.stderr_text();
}

}  // namespace
}  // namespace perennial::support
