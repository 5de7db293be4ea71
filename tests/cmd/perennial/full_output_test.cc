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
#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

namespace fs = std::filesystem;
using support::ServerProcess;
using testing::HasSubstr;

// What a run needs besides its arguments.
enum class Needs { Server, DataDir, Nothing };

struct Case {
  std::string command;
  // SERVER and OTHER stand for two servers, DATA for the directory of one that was stopped, and DIR
  // for one that is there. Empty: only the help is tried, for the reason behind it.
  std::string line;
  Needs needs = Needs::Server;
};

// A row for each subcommand: Output.EverySubcommandHasARow.
const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"stats", "stats --server SERVER"},
      {"tubes", "tubes --server SERVER"},
      {"top", "top --once --interval 0.1 --server SERVER"},
      {"put", "put hello --server SERVER"},
      {"peek", "peek 1 --body --server SERVER"},
      {"kick", "kick --tube default --count 1 --server SERVER"},
      {"bury", "bury 2 --server SERVER"},
      {"delete", "delete 3 --server SERVER"},
      {"pause", "pause default 1 --server SERVER"},
      {"drain", "drain --server SERVER"},
      {"undrain", "undrain --server SERVER"},
      {"list", "list default --server SERVER"},
      {"set job", "set job 4 --pri 7 --server SERVER"},
      {"flush", "flush default --server SERVER"},
      {"move", "move default other --server SERVER"},
      {"set tube", "set tube default --tries 5 --server SERVER"},
      {"work", "work --tube default --dry-run --server SERVER -- cat"},
      {"dump", "dump --data-dir DATA", Needs::DataDir},
      {"load", "load --data-dir DIR/new --from DIR/dump", Needs::DataDir},
      {"check", "check --data-dir DATA", Needs::DataDir},
      {"repair", "repair --yes --data-dir DATA", Needs::DataDir},
      {"checkpoint create", "checkpoint create --server SERVER"},
      {"checkpoint list", "checkpoint list --data-dir DATA", Needs::DataDir},
      {"checkpoint verify", "checkpoint verify DATA/checkpoints/*Z", Needs::DataDir},
      {"checkpoint prune", "checkpoint prune --keep 9 --data-dir DATA", Needs::DataDir},
      {"restore", "restore --from DATA/checkpoints/*Z --to DIR/back", Needs::DataDir},
      {"migrate", "migrate --data-dir DATA", Needs::DataDir},
      {"token new", "token new --user mailer", Needs::Nothing},
      {"users check", "users check --config DIR/empty.yaml", Needs::DataDir},
      {"import-binlog", "import-binlog --dry-run --from DIR/binlog", Needs::DataDir},
      {"export-beanstalkd", "export-beanstalkd --dry-run --to OTHER --server SERVER"},
      {"cluster status", "", Needs::Nothing},  // These need a cluster.
      {"cluster handover", "", Needs::Nothing},
      {"cluster init", "", Needs::Nothing},
      {"cluster recover", "", Needs::Nothing},
      {"cluster verify", "", Needs::Nothing},
      {"cluster resign", "", Needs::Nothing},
      {"cluster pause", "", Needs::Nothing},
      {"cluster resume", "", Needs::Nothing},
      {"cluster repair", "", Needs::Nothing},
      {"bench", "bench --list", Needs::Nothing},
      {"manual", "manual", Needs::Nothing},
      {"completions", "completions bash", Needs::Nothing},
  };
  return all;
}

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

std::string filled_in(std::string line, const ServerProcess& server, const std::string& other) {
  const std::pair<std::string, std::string> words[] = {{"SERVER", server.address()},
                                                       {"OTHER", other},
                                                       {"DATA", server.data_dir()},
                                                       {"DIR", server.dir()}};
  for (const auto& [word, value] : words) {
    for (size_t at = line.find(word); at != std::string::npos; at = line.find(word))
      line.replace(at, word.size(), value);
  }
  return line;
}

TEST(Output, EverySubcommandHasARow) {
  for (const Subcommand& command : all_commands()) {
    const auto named = [&](const Case& one) { return one.command == command.name; };
    EXPECT_EQ(std::ranges::count_if(cases(), named), 1)
        << command.name << ": add a line for it to cases()";
  }
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
  const auto line_of = [&](const Case& one) {
    return support::tool_path() + " " + filled_in(one.line, server, other.address());
  };
  for (int i = 0; i < 9; ++i) {
    ASSERT_EQ(support::run_tool({"put", "body", "--server", server.address()}).code, 0);
  }
  for (const Case& one : cases()) {
    if (one.line.empty() || one.needs == Needs::DataDir) continue;
    expect_failure(line_of(one), server.dir());
  }
  ASSERT_EQ(server.terminate()->code, 0);
  const support::ToolRun dumped = support::run_tool({"dump", "--data-dir", server.data_dir()});
  ASSERT_EQ(dumped.code, 0) << dumped.err;
  std::ofstream(server.dir() + "/dump") << dumped.out;
  std::ofstream(server.dir() + "/empty.yaml") << "{}\n";
  fs::create_directory(server.dir() + "/binlog");
  std::ofstream(server.dir() + "/binlog/binlog.1", std::ios::binary)
      << std::string("\x07\0\0\0", 4);
  for (const Case& one : cases()) {
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
    EXPECT_EQ(std::system(fmt::format("{} {}", put, closed).c_str()), 0) << closed;
  }
  // The ids went nowhere, and not to the server.
  const support::ToolRun stats =
      support::run_tool({"stats", "--json", "--server", server.address()});
  EXPECT_THAT(stats.out, HasSubstr("\"cmd-put\": 4,"));
  EXPECT_THAT(stats.out, HasSubstr("\"current-jobs-ready\": 4,"));
}

}  // namespace
}  // namespace perennial::tool
