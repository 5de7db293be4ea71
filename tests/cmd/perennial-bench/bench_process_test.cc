// perennial bench as a person runs it.

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "tests/cmd/perennial-bench/bench_servers.h"
#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/temp_dir.h"

namespace perennial::bench {
namespace {

namespace fs = std::filesystem;
using support::run_tool;
using support::ToolRun;
using testing::HasSubstr;

std::string ours() {
  return "ours=" + command_of(kinds_of_servers().front());
}

TEST(BenchTool, ListsItsWorkloads) {
  const ToolRun run = run_tool({"bench", "--list"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("put-pipelined  puts from 8 connections"));
  EXPECT_THAT(run.out, HasSubstr("restart"));
}

TEST(BenchTool, HelpsUnderTheNameOfTheTool) {
  const ToolRun run = run_tool({"bench", "--help"});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.out, HasSubstr("\nUsage: perennial bench [OPTIONS] [WORKLOAD...]\n"));
}

// Uses a copy of the tool that is alone in its directory.
TEST(BenchTool, SaysWhichProgramIsMissing) {
  const support::TempDir dir;
  const std::string alone = dir.path() + "/perennial";
  fs::copy_file(support::tool_path(), alone);
  ASSERT_EQ(::setenv("PERENNIAL", alone.c_str(), 1), 0);
  const ToolRun run = run_tool({"bench", "put"});
  const ToolRun other = run_tool({"--help"});
  ::unsetenv("PERENNIAL");
  EXPECT_EQ(run.code, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_THAT(run.err, HasSubstr("perennial bench: " + alone + "-bench: No such file"));
  EXPECT_EQ(other.code, 0);
}

TEST(BenchTool, DoesEveryWorkloadQuickly) {
  const support::TempDir dir;
  const ToolRun run = run_tool({"bench", "--quick", "--dir", dir.path(), "--against", ours()});
  EXPECT_EQ(run.code, 0) << run.err;
  for (const char* word : {"put", "cycle-deep", "backlog", "restart", "ours"})
    EXPECT_THAT(run.out, HasSubstr(word));
  EXPECT_EQ(run.err, "");
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(BenchTool, TellsMisuseFromFailure) {
  EXPECT_EQ(run_tool({"bench", "putt"}).code, 2);
  EXPECT_EQ(run_tool({"bench", "restart", "--server", "127.0.0.1:1"}).code, 2);
  EXPECT_EQ(run_tool({"bench", "--seconds", "x"}).code, 2);
  const ToolRun run = run_tool({"bench", "latency", "--server", "unix:/nowhere/s"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("perennial bench: latency 1x1: unix:/nowhere/s: "));
}

// The server starts within a moment. The bench would run for a minute if it were not interrupted.
TEST(BenchTool, LeavesNothingBehindWhenItIsInterrupted) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const support::TempDir dir;
    support::ToolProcess tool({"bench", "put", "--seconds", "50", "--against", ours(), "--dir",
                               dir.path(), "--rounds", "1"});
    while (fs::is_empty(dir.path())) ::usleep(1000);
    tool.signal(signal);
    const ToolRun run = tool.wait();
    EXPECT_EQ(run.code, 1);
    EXPECT_THAT(run.err, HasSubstr("stopped by a signal"));
    EXPECT_TRUE(fs::is_empty(dir.path()));
  }
}

TEST(BenchTool, EndsItsServersAfterAFailure) {
  const support::TempDir dir;
  const ToolRun run = run_tool({"bench", "put", "--quick", "--body-bytes", "70000", "--against",
                                ours(), "--dir", dir.path()});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("the server answered a put with 'JOB_TOO_BIG'"));
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

}  // namespace
}  // namespace perennial::bench
