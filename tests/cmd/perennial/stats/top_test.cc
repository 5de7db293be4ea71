// perennial top in tmux, a real terminal whose screen can be read.

#include <csignal>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/cmd/perennial/screen.h"
#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

using support::output_of;
using support::Screen;
using support::ServerProcess;

class Top : public testing::Test {
 protected:
  void SetUp() override {
    if (output_of("tmux -V 2>/dev/null").empty())
      GTEST_SKIP() << "tmux is not installed, and it is the terminal of this test";
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
    support::ClientSocket client = server_.connect();
    ASSERT_EQ(*client.ask("use mail\r\n"), "USING mail\r\n");
    ASSERT_EQ(*client.ask("put 0 0 60 1\r\nx\r\n"), "INSERTED 1\r\n");
  }
  std::string command() const {
    return fmt::format("{} top --interval 0.1 --server {}", support::tool_path(),
                       server_.address());
  }

  // The unix socket keeps its address when the server is restarted.
  ServerProcess server_{{.unix_socket = true}};
};

TEST_F(Top, KeepsUpUntilQ) {
  const Screen screen(server_.dir(), command());
  EXPECT_SHOWN(screen, "jobs     1 ready");
  EXPECT_SHOWN(screen, "mail");
  EXPECT_SHOWN(screen, "store    ok");
  support::ClientSocket client = server_.connect();
  ASSERT_TRUE(client.ask("put 0 0 60 1\r\nx\r\n").ok());
  EXPECT_SHOWN(screen, "jobs     2 ready");
  screen.tmux("send-keys q");
  EXPECT_SHOWN(screen, "ended with 0");
  // The terminal is restored: its earlier content is back, and typed characters are shown.
  EXPECT_EQ(screen.text().find("jobs "), std::string::npos) << screen.text();
  screen.tmux("send-keys echoed");
  EXPECT_SHOWN(screen, "echoed");
}

TEST_F(Top, LeavesAtControlC) {
  const Screen screen(server_.dir(), command());
  EXPECT_SHOWN(screen, "jobs     1 ready");
  screen.tmux("send-keys C-c");
  EXPECT_SHOWN(screen, "ended with 0");
}

TEST_F(Top, LeavesAtSigterm) {
  // The shell writes its pid and then executes the tool.
  const std::string pid_file = server_.dir() + "/top.pid";
  const Screen screen(server_.dir(),
                      fmt::format("sh -c \"echo \\$\\$ > {}; exec {}\"", pid_file, command()));
  EXPECT_SHOWN(screen, "jobs     1 ready");
  ASSERT_EQ(::kill(static_cast<pid_t>(std::stol(output_of("cat " + pid_file))), SIGTERM), 0);
  EXPECT_SHOWN(screen, "ended with 0");
}

TEST_F(Top, FollowsTheSizeOfTheWindow) {
  const Screen screen(server_.dir(), command());
  EXPECT_SHOWN(screen, "DEL/S");
  screen.tmux("resize-window -x 50 -y 12");
  EXPECT_SHOWN(screen, "WAIT  ~");
  screen.tmux("resize-window -x 132 -y 40");
  EXPECT_SHOWN(screen, "DEL/S");
  EXPECT_SHOWN(screen, "changes a sync");
}

TEST_F(Top, ConnectsAgainToAServerThatWasAway) {
  const Screen screen(server_.dir(), command());
  EXPECT_SHOWN(screen, "jobs     1 ready");
  ASSERT_TRUE(server_.kill_now().ok());
  EXPECT_SHOWN(screen, "NO ANSWER");
  ASSERT_TRUE(server_.start().ok());
  support::ClientSocket client = server_.connect();
  ASSERT_TRUE(client.ask("put 0 0 60 1\r\nx\r\n").ok());
  EXPECT_SHOWN(screen, "jobs     2 ready");
  EXPECT_EQ(screen.text().find("NO ANSWER"), std::string::npos);
}

}  // namespace
}  // namespace perennial::tool
