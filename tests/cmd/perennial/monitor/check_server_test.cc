// perennial check --server, as a monitor runs it; and perennial stats --disk.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cmd/perennial/canned_server.h"
#include "tests/cmd/perennial/tool_and_server.h"

namespace perennial::tool {
namespace {

using support::ToolRun;
using testing::HasSubstr;
using testing::StartsWith;

class CheckServer : public ToolAndServer {};

TEST_F(CheckServer, SaysThatAServerIsWell) {
  put("a", {"--tube", "mail"});
  const ToolRun done = run({"check", "--oldest", "5m,1h", "--ready", "10", "--buried", "0,9"});
  EXPECT_EQ(done.code, 0) << done.out << done.err;
  EXPECT_THAT(done.out, StartsWith("PERENNIAL OK - 1 jobs ready, 0 reserved, "));
  EXPECT_THAT(done.out, HasSubstr("s;300;3600 ready=1;10 buried=0;0;9 dead=0 damaged=0;0"));
  EXPECT_EQ(done.err, "");
}

TEST_F(CheckServer, ItsExitCodesAreThoseOfAPlugin) {
  const std::string id = put("a", {"--tube", "mail"});
  put("b", {"--tube", "other"});
  EXPECT_EQ(run({"bury", id}).code, 0);
  const ToolRun warning = run({"check", "--buried", "0,9"});
  EXPECT_EQ(warning.code, 1) << warning.err;
  EXPECT_THAT(warning.out, StartsWith("PERENNIAL WARNING - tube 'mail': buried jobs 1, above 0"));
  const ToolRun critical = run({"check", "--buried", "0,0", "--json"});
  EXPECT_EQ(critical.code, 2) << critical.err;
  EXPECT_EQ(nlohmann::json::parse(critical.out)["state"], "CRITICAL");
  const ToolRun other = run({"check", "--buried", "0,0", "--tube", "other"});
  EXPECT_EQ(other.code, 0) << other.out;
  const ToolRun unknown = run({"check", "--buried", "few"});
  EXPECT_EQ(unknown.code, 3) << unknown.err;
  EXPECT_THAT(unknown.out, StartsWith("PERENNIAL UNKNOWN - --buried: 'few' is not a whole number"));
  EXPECT_EQ(run({"check", "--checkpoint-age", "2h,26h"}).code, 2);
  EXPECT_EQ(run({"drain", "--yes"}).code, 0);
  EXPECT_EQ(run({"check"}).code, 1);
}

TEST_F(CheckServer, BeanstalkdIsChecked) {
  support::ServerProcess other({.program = support::Program::Beanstalkd});
  ASSERT_TRUE(other.start().ok());
  const auto check = [&](std::vector<std::string> limits) {
    limits.insert(limits.begin(), {"check", "--server", other.address()});
    return support::run_tool(limits);
  };
  EXPECT_EQ(check({"--ready", "0,10"}).code, 0);
  const ToolRun unknown = check({"--oldest", "1m"});
  EXPECT_EQ(unknown.code, 3);
  EXPECT_THAT(unknown.out, HasSubstr("UNKNOWN - the server does not say 'next-ready-age'"));
}

// From a variable of a shell that is not set: a limit that is none must not be green for ever.
TEST_F(CheckServer, AnEmptyLimitIsUnknown) {
  EXPECT_EQ(run({"check", "--oldest", ""}).code, 3);
}

// The bytes of an answer come too slowly for its end to come in time.
TEST(CheckOfASlowServer, EndsInTime) {
  const support::CannedServer slow("OK 100000\r\n---\n");
  const ToolRun done =
      support::run_tool({"check", "--server", slow.address(), "--timeout", "300ms"});
  EXPECT_EQ(done.code, 2);
  EXPECT_THAT(done.out, StartsWith("PERENNIAL CRITICAL - "));
}

TEST(CheckNoServer, IsCritical) {
  const ToolRun none = support::run_tool({"check", "--server", "unix:/no/such/socket"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.out, StartsWith("PERENNIAL CRITICAL - unix:/no/such/socket: connect: "));
  const support::CannedServer http("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
  const ToolRun other = support::run_tool({"check", "--server", http.address()});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.out, HasSubstr("what answers there is no perennial"));
  const ToolRun wrong = support::run_tool({"check", "--server", "@nobody"});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.out, StartsWith("PERENNIAL UNKNOWN - "));
}

TEST(CheckUsage, ADirectoryAndAServerExcludeEachOther) {
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"check"},
           {"check", "--data-dir", "/tmp", "--server", "127.0.0.1:1"},
           {"check", "--deep", "--server", "127.0.0.1:1"},
           {"check", "--data-dir", "/tmp", "--buried", "1"}}) {
    const ToolRun done = support::run_tool(wrong);
    EXPECT_EQ(done.code, 2) << done.out;
    EXPECT_THAT(done.err, HasSubstr("--"));
    EXPECT_EQ(done.out, "");
  }
}

class StatsOfDisk : public ToolAndServer {};

TEST_F(StatsOfDisk, CountsEachBlockOnce) {
  for (int i = 0; i < 20; ++i) put(std::string(60'000, 'x'));
  ASSERT_EQ(run({"checkpoint", "create"}).code, 0);
  const std::vector<std::string> disk = {"stats", "--disk", "--data-dir", server_.data_dir()};
  const ToolRun table = support::run_tool(disk);
  EXPECT_EQ(table.code, 0) << table.err;
  for (const char* what : {"(tables)", "log", "ballast", "checkpoints", "free on this disk"})
    EXPECT_THAT(table.out, HasSubstr(what));
  std::vector<std::string> as_json = disk;
  as_json.emplace_back("--json");
  const auto json = nlohmann::json::parse(support::run_tool(as_json).out);
  const auto& kinds = json["kinds"];
  EXPECT_GT(kinds["tables"]["bytes"], 0) << json;
  EXPECT_EQ(kinds["tables"]["shared_bytes"], 0) << json;
  // A checkpoint has hard links to the tables, among others.
  EXPECT_GE(kinds["checkpoints"]["shared_bytes"], kinds["tables"]["bytes"]) << json;
  uint64_t sum = 0;
  for (const auto& kind : kinds) sum += kind["bytes"].get<uint64_t>();
  EXPECT_EQ(json["bytes"], sum);
  EXPECT_GT(json["disk_free_bytes"], 0);
}

TEST_F(StatsOfDisk, SaysWhatIsMissing) {
  const ToolRun alone = run({"stats", "--disk"});
  EXPECT_EQ(alone.code, 2);
  EXPECT_THAT(alone.err, HasSubstr("--disk and --data-dir DIR go together"));
  const ToolRun none = support::run_tool({"stats", "--disk", "--data-dir", "/no/such"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("there is no directory /no/such"));
  const ToolRun other = support::run_tool({"stats", "--disk", "--data-dir", server_.dir()});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err, HasSubstr("is no data directory"));
}

}  // namespace
}  // namespace perennial::tool
