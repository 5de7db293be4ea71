// A crash writes the bodies of jobs nowhere, unless the configuration asks for core dumps.

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/cmd/perenniald/program/launch.h"
#include "tests/support/server_process.h"

namespace perennial::support {
namespace {

struct Limits {
  std::string soft;
  std::string hard;
};

// As the kernel prints them: "Max core file size  0  unlimited  bytes".
Limits core_limits(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/limits");
  const std::string name = "Max core file size";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    Limits out;
    std::istringstream(line.substr(name.size())) >> out.soft >> out.hard;
    return out;
  }
  return {};
}

// A server whose hard limit is the soft limit of the shell that starts it.
class CoreDumps : public testing::Test {
 protected:
  void start(const std::string& setting) {
    std::ofstream(dir_.path() + "/perennial.yaml") << setting;
    server_.emplace(dir_.path(), Launch::Setup{.flags = {"-b", "data", "-l", "unix:s", "--config",
                                                         "perennial.yaml"},
                                               .shell = "ulimit -S -c $(ulimit -H -c)"});
    const Result<ClientSocket> client = server_->connect("unix:" + dir_.path() + "/s");
    ASSERT_TRUE(client.ok()) << client.status().message();
  }
  bool has_dump() const {
    for (const auto& entry : std::filesystem::directory_iterator(dir_.path())) {
      if (entry.path().filename().native().starts_with("core")) return true;
    }
    return false;
  }

  TempDir dir_;
  std::optional<Launch> server_;
};

TEST_F(CoreDumps, AreNotWrittenUnlessConfigured) {
  start("");
  const Limits limits = core_limits(server_->pid());
  EXPECT_EQ(limits.soft, limits.hard == "0" ? "0" : "1");
  server_->signal(SIGABRT);
  EXPECT_EQ(server_->wait().signal, SIGABRT);
  EXPECT_FALSE(has_dump());
}

// The dump may be as large as the hard limit allows.
TEST_F(CoreDumps, AreWrittenWhenConfigured) {
  start("core_dumps: true\n");
  const Limits limits = core_limits(server_->pid());
  EXPECT_FALSE(limits.hard.empty());
  EXPECT_EQ(limits.soft, limits.hard);
  server_->signal(SIGTERM);
  EXPECT_EQ(server_->wait().code, 0);
}

}  // namespace
}  // namespace perennial::support
