// The command line of perennial as a person types it.

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/temp_dir.h"

namespace perennial::tool {
namespace {

using support::run_tool;
using support::ToolRun;
using testing::HasSubstr;
using testing::StartsWith;

TEST(CommandLine, SaysItsVersion) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--version"}, {"-v"}, {"bench", "--version"}}) {
    const ToolRun run = run_tool(arguments);
    EXPECT_EQ(run.code, 0);
    EXPECT_EQ(run.out, "perennial " VERSION "\n");
    EXPECT_EQ(run.err, "");
  }
}

TEST(CommandLine, HelpIsTheHelpOfACommand) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{}, {"set"}, {"set", "tube"}, {"flush"}, {"bench"}}) {
    std::vector<std::string> asked = {"help"};
    asked.insert(asked.end(), words.begin(), words.end());
    std::vector<std::string> flagged = words;
    flagged.emplace_back("--help");
    const ToolRun run = run_tool(asked);
    EXPECT_EQ(run.code, 0);
    EXPECT_THAT(run.out, HasSubstr("Usage: "));
    EXPECT_EQ(run.out, run_tool(flagged).out);
  }
}

struct UsageCase {
  const char* name;
  std::vector<std::string> arguments;
  const char* message;  // The first line on standard error.
};

class CommandLineUsage : public testing::TestWithParam<UsageCase> {};

TEST_P(CommandLineUsage, IsExplainedInALine) {
  const ToolRun run = run_tool(GetParam().arguments);
  EXPECT_EQ(run.code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err.substr(0, run.err.find('\n')), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CommandLineUsage,
    testing::Values(
        UsageCase{"Nothing", {}, "perennial: which command? 'perennial help' lists them"},
        UsageCase{"Typo",
                  {"flsh", "t"},
                  "perennial: there is no command 'flsh'; did you mean "
                  "'flush'?"},
        UsageCase{"TypoInHelp",
                  {"help", "flsh"},
                  "perennial: there is no command 'flsh'; did you "
                  "mean 'flush'?"},
        UsageCase{"TypoOfAnOption",
                  {"flush", "t", "--stat", "buried"},
                  "perennial flush: there is no option '--stat'; did you mean '--state'?"},
        UsageCase{"TypoWithAValue",
                  {"set", "tube", "t", "--trise=3"},
                  "perennial set tube: there is no option '--trise'; did you mean '--tries'?"},
        UsageCase{
            "UnknownShortOption", {"stats", "-x"}, "perennial stats: there is no option '-x'"},
        UsageCase{"Missing", {"flush"}, "perennial flush: TUBE is required"},
        UsageCase{"TooMany", {"stats", "mail"}, "perennial stats: 'mail' is one argument too many"},
        UsageCase{"OfATerminal",
                  {"\x1b[2J"},
                  "perennial: there is no command '\\x1b[2J'; "
                  "'perennial help' lists them"},
        UsageCase{"OfBench",
                  {"bench", "--secnods", "3"},
                  "perennial bench: there is no option '--secnods'; did you mean '--seconds'?"}),
    [](const auto& one) { return one.param.name; });

// The server of the environment, and by a name in a file. Nobody listens at any of them.
TEST(CommandLine, AServerIsThatOfTheFlagElseOfTheEnvironment) {
  const support::TempDir dir;
  ASSERT_EQ(::mkdir((dir.path() + "/perennial").c_str(), 0700), 0);
  std::ofstream(dir.path() + "/perennial/servers.yaml")
      << "dev:\n  server: unix:" << dir.path() << "/dev\n";
  ASSERT_EQ(::setenv("XDG_CONFIG_HOME", dir.path().c_str(), 1), 0);
  ASSERT_EQ(::setenv("PERENNIAL_SERVER", "@dev", 1), 0);
  const ToolRun by_environment = run_tool({"stats"});
  const ToolRun by_flag = run_tool({"stats", "--server", "unix:" + dir.path() + "/flag"});
  ASSERT_EQ(::unsetenv("PERENNIAL_SERVER"), 0);
  const ToolRun by_name = run_tool({"top", "--once", "--server", "@dev"});
  const ToolRun unknown = run_tool({"stats", "--server", "@prod"});
  ASSERT_EQ(::unsetenv("XDG_CONFIG_HOME"), 0);
  EXPECT_EQ(by_environment.code, 1);
  EXPECT_THAT(by_environment.err, StartsWith("perennial stats: unix:" + dir.path() + "/dev: "));
  EXPECT_THAT(by_flag.err, StartsWith("perennial stats: unix:" + dir.path() + "/flag: "));
  EXPECT_THAT(by_name.err, HasSubstr("unix:" + dir.path() + "/dev: "));
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("has no server 'prod'"));
}

}  // namespace
}  // namespace perennial::tool
