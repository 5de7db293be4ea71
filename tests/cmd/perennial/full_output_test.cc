// Output that could not be written is a failure, of every subcommand and every program: a script
// that saves a body before it deletes the job must not go on.

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "cmd/perennial/subcommands.h"
#include "tests/cmd/perennial/capture.h"
#include "tests/cmd/perennial/command_lines.h"
#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using support::ServerProcess;
using testing::HasSubstr;

std::string program(const std::string& name) {
  return fs::read_symlink("/proc/self/exe").replace_filename(name).string();
}

// Runs it with the full device as its standard output. Returns the exit code, and what it said.
std::pair<int, std::string> run_on_full_device(const std::string& line, const std::string& dir) {
  const std::string said = dir + "/said";
  const int status = std::system(fmt::format("{} >/dev/full 2>{}", line, said).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(said)};
}

void expect_failure(const std::string& line, const std::string& dir) {
  const auto [code, said] = run_on_full_device(line, dir);
  EXPECT_EQ(code, 1) << line << "\n" << said;
  EXPECT_THAT(said, HasSubstr("write the output: ")) << line;
}

TEST(Output, HelpThatIsNotWrittenIsAFailure) {
  const support::TempDir dir;
  expect_failure(support::tool_path() + " --help", dir.path());
  for (const Subcommand& command : all_commands())
    expect_failure(fmt::format("{} {} --help", support::tool_path(), command.name), dir.path());
  expect_failure(program("perennial-bench") + " --help", dir.path());
  for (const std::string flag : {"--help", "-h", "-v", "--print-config", "--print-access"})
    expect_failure(program("perenniald") + " " + flag, dir.path());
}

TEST(Output, AResultThatIsNotWrittenIsAFailure) {
  ServerProcess server;
  ServerProcess other;
  ASSERT_TRUE(server.start().ok());
  ASSERT_TRUE(other.start().ok());
  const auto line_of = [&](const CommandLine& one) {
    return support::tool_path() + " " +
           filled_in(one.line,
                     {server.address(), other.address(), server.data_dir(), server.dir()});
  };
  for (int i = 0; i < 9; ++i) {
    ASSERT_EQ(support::run_tool({"put", "body", "--server", server.address()}).code, 0);
  }
  // So that a job that was deleted can be put back.
  const std::vector<std::string> keep = {"set", "tube",     "default",       "--keep",
                                         "1h",  "--server", server.address()};
  ASSERT_EQ(support::run_tool(keep).code, 0);
  for (const CommandLine& one : command_lines()) {
    if (one.line.empty() || one.needs == Needs::DataDir) continue;
    expect_failure(line_of(one), server.dir());
  }
  ASSERT_EQ(server.terminate()->code, 0);
  prepare_data_dir(server.data_dir(), server.dir());
  for (const CommandLine& one : command_lines()) {
    if (one.line.empty() || one.needs != Needs::DataDir) continue;
    expect_failure(line_of(one), server.dir());
  }
}

// A body that is larger than stdio's buffer is written before the end: fmt::print throws then.
TEST(Output, ALargeResultIsAFailureAndNoCrash) {
  ServerProcess server({.flags = {"-z", "300000"}});
  ASSERT_TRUE(server.start().ok());
  const std::vector<std::string> at = {"--server", server.address()};
  ASSERT_EQ(
      support::run_tool({"put", "--server", server.address()}, std::string(200'000, 'x')).code, 0);
  for (const std::string how : {"--body", "--json", ""}) {
    const auto [code, said] = run_on_full_device(
        fmt::format("{} peek 1 {} --server {}", support::tool_path(), how, server.address()),
        server.dir());
    EXPECT_EQ(code, 1) << said;
    EXPECT_THAT(said, HasSubstr("write the output: ")) << how;
  }
}

// A parent that closed them leaves their numbers to the first files and sockets.
TEST(Output, ClosedStandardStreamsAreNobodyElses) {
  ServerProcess server;
  ASSERT_TRUE(server.start().ok());
  const std::string put =
      fmt::format("{} put hello --server {}", support::tool_path(), server.address());
  for (const std::string closed : {"<&-", ">&-", "2>&-", "<&- >&- 2>&-"}) {
    // A result that nobody gets is a failure: `perennial dump >&- && perennial flush ...`.
    const int wanted = closed.find(">&-") == 0 || closed.size() > 4 ? 1 : 0;
    const int status = std::system(fmt::format("{} {}", put, closed).c_str());
    EXPECT_EQ(WEXITSTATUS(status), wanted) << closed;
  }
  // The ids went nowhere, and not to the server.
  const support::ToolRun stats =
      support::run_tool({"stats", "--json", "--server", server.address()});
  EXPECT_THAT(stats.out, HasSubstr("\"cmd-put\": 4,"));
  EXPECT_THAT(stats.out, HasSubstr("\"current-jobs-ready\": 4,"));
}

}  // namespace
}  // namespace perennial::tool
