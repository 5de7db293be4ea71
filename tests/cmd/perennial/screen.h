#pragma once

#include <array>
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/types/check.h"

// A real terminal whose screen can be read: tmux.
namespace perennial::support {

// The output of a shell command.
inline std::string output_of(const std::string& command) {
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

}  // namespace perennial::support

#define EXPECT_SHOWN(screen, wanted)                                                 \
  do {                                                                               \
    const std::string shown = (screen).wait_for(wanted);                             \
    EXPECT_NE(shown.find(wanted), std::string::npos) << wanted << " in:\n" << shown; \
  } while (false)
