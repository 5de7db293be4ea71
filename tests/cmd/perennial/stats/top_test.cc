// perennial top in tmux, a real terminal whose screen can be read.

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

using support::ServerProcess;

// The output of a shell command.
std::string output_of(const std::string& command) {
  std::FILE* const pipe = ::popen(command.c_str(), "re");
  CHECK(pipe != nullptr);
  std::string text;
  std::array<char, 4096> bytes;
  for (size_t count = 0; (count = std::fread(bytes.data(), 1, bytes.size(), pipe)) > 0;)
    text.append(bytes.data(), count);
  ::pclose(pipe);
  return text;
}

// A separate tmux server, so that no other one is affected.
class Screen {
 public:
  Screen(const std::string& dir, const std::string& command) : socket_(dir + "/tmux") {
    tmux(fmt::format("-f /dev/null new-session -d -x 80 -y 24 '{}; echo ended with $?; cat'",
                     command));
  }
  ~Screen() { tmux("kill-server"); }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  std::string tmux(const std::string& arguments) const {
    return output_of(fmt::format("tmux -S {} {} 2>&1", socket_, arguments));
  }
  std::string text() const { return tmux("capture-pane -p"); }

  // Returns the screen once it contains the text, or after ten seconds.
  std::string wait_for(const std::string& wanted) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    std::string shown = text();
    while (shown.find(wanted) == std::string::npos && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      shown = text();
    }
    return shown;
  }

 private:
  std::string socket_;
};

#define EXPECT_SHOWN(screen, wanted)                                                 \
  do {                                                                               \
    const std::string shown = (screen).wait_for(wanted);                             \
    EXPECT_NE(shown.find(wanted), std::string::npos) << wanted << " in:\n" << shown; \
  } while (false)

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
