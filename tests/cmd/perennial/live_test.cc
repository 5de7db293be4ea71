// The subcommands for a running server as a person or a script runs them, on perenniald and on
// beanstalkd.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

using support::Program;
using support::ServerProcess;
using support::ToolRun;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class Live : public testing::TestWithParam<Program> {
 protected:
  void SetUp() override {
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
  }

  ToolRun run(std::vector<std::string> arguments, const std::string& input = {}) {
    arguments.insert(arguments.end(), {"--server", server_.address()});
    return support::run_tool(arguments, input);
  }
  std::string put(const std::string& body, std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"put", body});
    const ToolRun done = run(flags);
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out.substr(0, done.out.find('\n'));
  }
  std::string field(const std::string& id, const std::string& key) {
    const ToolRun stats = run({"stats", "--job", id, "--json"});
    if (stats.code != 0) return stats.err;
    const auto value = nlohmann::json::parse(stats.out)[key];
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  ServerProcess server_{{.program = GetParam()}};
};

INSTANTIATE_TEST_SUITE_P(Tool, Live, testing::Values(Program::Perenniald, Program::Beanstalkd),
                         [](const auto& param) {
                           return param.param == Program::Perenniald ? "Perenniald" : "Beanstalkd";
                         });

TEST_P(Live, PutTakesTheBodyFromAnArgumentAFileOrStdin) {
  const std::string binary("a\0\r\n\xff-", 6);
  const std::string file = server_.dir() + "/body";
  std::ofstream(file, std::ios::binary) << binary;
  const ToolRun from_file = run({"put", "--file", file});
  const ToolRun from_stdin = run({"put"}, binary);
  const ToolRun from_dash = run({"put", "-"}, binary);
  for (const ToolRun& done : {from_file, from_stdin, from_dash}) {
    ASSERT_EQ(done.code, 0) << done.err;
    const std::string id = done.out.substr(0, done.out.find('\n'));
    EXPECT_EQ(run({"peek", id, "--body"}).out, binary);
  }
  const std::string id =
      put("two words", {"--tube", "mail", "--pri", "7", "--delay", "1000", "--ttr", "9"});
  EXPECT_EQ(run({"peek", id, "--body"}).out, "two words");
  EXPECT_EQ(field(id, "tube"), "mail");
  EXPECT_EQ(field(id, "pri"), "7");
  EXPECT_EQ(field(id, "delay"), "1000");
  EXPECT_EQ(field(id, "ttr"), "9");
  const ToolRun empty = run({"put", ""}, "not this");
  EXPECT_EQ(run({"peek", empty.out.substr(0, empty.out.find('\n')), "--body"}).out, "");
}

TEST_P(Live, PutMakesAJobOfEachLine) {
  std::string input;
  std::string ids;
  for (int line = 1; line <= 2500; ++line) {
    input += fmt::format("line {}\n", line);
    ids += fmt::format("{}\n", line);
  }
  const ToolRun done = run({"put", "--lines", "--tube", "mail"}, input + "\nlast");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, ids + "2501\n2502\n");
  EXPECT_EQ(run({"peek", "2500", "--body"}).out, "line 2500");
  EXPECT_EQ(run({"peek", "2501", "--body"}).out, "");
  EXPECT_EQ(run({"peek", "2502", "--body"}).out, "last");
}

TEST_P(Live, PutGoesOnBehindALineThatIsTooLong) {
  const ToolRun done = run({"put", "--lines"}, "a\n" + std::string(70'000, 'x') + "\nb\n");
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.out, "1\n2\n");
  EXPECT_THAT(done.err, HasSubstr("line 2: JOB_TOO_BIG"));
  EXPECT_THAT(done.err, HasSubstr("1 of 3 lines were not put"));
}

TEST_P(Live, PeekShowsFieldsAndABodyThatNoTerminalObeys) {
  const std::string id = put("\x1b[2Jhello");
  const ToolRun shown = run({"peek", "--ready"});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, StartsWith("job " + id + "\n"));
  EXPECT_THAT(shown.out, HasSubstr("\n\n\\x1b[2Jhello\n"));
  EXPECT_EQ(nlohmann::json::parse(run({"peek", id, "--json"}).out)["body"], "\x1b[2Jhello");
  const std::string binary = put("\xff");
  EXPECT_EQ(nlohmann::json::parse(run({"peek", binary, "--json"}).out)["body_base64"], "/w==");
}

TEST_P(Live, PeekFindsTheNextInEachState) {
  const std::string delayed = put("d", {"--tube", "t", "--delay", "1000"});
  const std::string buried = put("b", {"--tube", "t"});
  EXPECT_EQ(run({"bury", buried}).code, 0);
  EXPECT_EQ(run({"peek", "--delayed", "--tube", "t", "--body"}).out, "d");
  EXPECT_EQ(run({"peek", "--buried", "--tube", "t", "--body"}).out, "b");
  const ToolRun none = run({"peek", "--ready", "--tube", "t"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("tube 't' has no ready job"));
  EXPECT_THAT(run({"peek", "999"}).err, HasSubstr("there is no job 999"));
}

TEST_P(Live, BuryTakesReadyAndDelayedJobsAndKickBringsThemBack) {
  const std::string ready = put("r", {"--pri", "5"});
  const std::string delayed = put("d", {"--delay", "1000"});
  const ToolRun buried = run({"bury", ready, delayed, "999"});
  EXPECT_EQ(buried.code, 1);
  EXPECT_EQ(buried.out, fmt::format("buried {}\nburied {}\n", ready, delayed));
  EXPECT_THAT(buried.err, HasSubstr("job 999: there is no such job"));
  EXPECT_THAT(buried.err, HasSubstr("1 of 3 jobs failed"));
  EXPECT_EQ(field(ready, "state"), "buried");
  EXPECT_EQ(field(ready, "pri"), "5");
  EXPECT_EQ(field(delayed, "state"), "buried");
  EXPECT_THAT(run({"bury", ready}).err, HasSubstr("is buried already"));
  EXPECT_EQ(run({"bury", ready, "--pri", "6"}).code, 0);
  EXPECT_EQ(field(ready, "pri"), "6");

  EXPECT_EQ(run({"kick", ready}).out, "kicked " + ready + "\n");
  EXPECT_THAT(run({"kick", ready}).err, HasSubstr("is ready, neither buried nor delayed"));
  EXPECT_EQ(run({"kick", "--tube", "default", "--count", "10"}).out, "kicked 1 jobs\n");
  EXPECT_EQ(field(delayed, "state"), "ready");
}

// `use` would make the tube, and "kicked 0 jobs" would hide a wrong name.
TEST_P(Live, KickOfATubeThatDoesNotExistFails) {
  const ToolRun none = run({"kick", "--tube", "mial", "--count", "10"});
  EXPECT_EQ(none.code, 1);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("there is no tube 'mial'"));
  EXPECT_EQ(run({"kick", "--tube", "default", "--count", "10"}).out, "kicked 0 jobs\n");
}

TEST_P(Live, TlsAtAPlainPortIsNoSuccess) {
  const ToolRun refused = run({"stats", "--tls"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, Not(HasSubstr("Success")));
  if (GetParam() == Program::Perenniald) {
    EXPECT_THAT(refused.err, HasSubstr("does it speak TLS at this port?"));
  }
}

TEST_P(Live, ReservedJobsAreLeftAlone) {
  const std::string id = put("x");
  support::ClientSocket worker = server_.connect();
  EXPECT_EQ(*worker.ask("reserve\r\n"), fmt::format("RESERVED {} 1\r\nx\r\n", id));
  for (const char* subcommand : {"bury", "delete"}) {
    const ToolRun refused = run({subcommand, id});
    EXPECT_EQ(refused.code, 1);
    EXPECT_THAT(refused.err, HasSubstr("a worker has it"));
  }
  EXPECT_EQ(*worker.ask(fmt::format("delete {}\r\n", id)), "DELETED\r\n");
}

TEST_P(Live, DeleteContinuesAfterAFailure) {
  const std::string first = put("1");
  const std::string second = put("2", {"--delay", "100"});
  const ToolRun done = run({"delete", first, "999", second, "--yes"});
  EXPECT_EQ(done.code, 1);
  EXPECT_EQ(done.out, fmt::format("deleted {}\ndeleted {}\n", first, second));
  EXPECT_THAT(done.err, HasSubstr("job 999: there is no such job"));
  EXPECT_THAT(field(first, "state"), HasSubstr("there is no job " + first));
}

TEST_P(Live, PauseBeginsAndEnds) {
  put("x", {"--tube", "mail"});
  EXPECT_EQ(run({"pause", "mail", "600"}).out, "mail: paused for 10 min\n");
  const auto left = [&] {
    return nlohmann::json::parse(run({"stats", "--tube", "mail", "--json"}).out)["pause-time-left"];
  };
  EXPECT_GT(left(), 0);
  EXPECT_EQ(run({"pause", "mail", "0"}).code, 0);
  EXPECT_EQ(left(), 0);
  const ToolRun none = run({"pause", "nowhere", "1"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("there is no tube 'nowhere'"));
}

TEST_P(Live, DrainRefusesPuts) {
  EXPECT_THAT(run({"drain", "--yes"}).out, HasSubstr("is draining"));
  const ToolRun refused = run({"put", "x"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("DRAINING"));
  const ToolRun lines = run({"put", "--lines"}, "a\nb\n");
  EXPECT_EQ(lines.code, 1);
  EXPECT_EQ(lines.out, "");
  EXPECT_THAT(run({"drain", "--yes"}).out, HasSubstr("was draining already"));
}

TEST_P(Live, StatsAreATableOrAllKeys) {
  put("x");
  const ToolRun table = run({"stats"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, StartsWith("jobs\n  ready                   1\n"));
  const auto json = nlohmann::json::parse(run({"stats", "--json"}).out);
  EXPECT_EQ(json["current-jobs-ready"], 1);
  EXPECT_EQ(json["pid"], server_.pid());
  EXPECT_EQ(json["draining"], false);
  EXPECT_EQ(json.contains("store-state"), GetParam() == Program::Perenniald);
  const ToolRun none = run({"stats", "--tube", "nowhere"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("there is no tube 'nowhere'"));
  EXPECT_THAT(run({"stats", "--job", "999"}).err, HasSubstr("there is no job 999"));
}

TEST_P(Live, TubesAreSortedAndMany) {
  support::ClientSocket client = server_.connect();
  constexpr int tubes = 1000;
  std::string commands;
  for (int i = 0; i < tubes; ++i)
    commands += fmt::format("use t-{:04}\r\nput 0 0 60 1\r\nx\r\n", tubes - 1 - i);
  ASSERT_TRUE(client.send(commands).ok());
  for (int i = 0; i < 2 * tubes; ++i) ASSERT_TRUE(client.read_reply().ok());
  const ToolRun table = run({"tubes"});
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, HasSubstr("total (1,001 tubes)"));
  const auto json = nlohmann::json::parse(run({"tubes", "--json"}).out);
  ASSERT_EQ(json.size(), tubes + 1U);
  EXPECT_EQ(json[0]["name"], "default");
  EXPECT_EQ(json[1]["name"], "t-0000");
  EXPECT_EQ(json[tubes]["name"], "t-0999");
  EXPECT_EQ(json[tubes]["current-jobs-ready"], 1);
}

TEST_P(Live, TopPrintsOneScreen) {
  put("x", {"--tube", "mail"});
  const ToolRun once = run({"top", "--once", "--interval", "0.1"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_THAT(once.out, HasSubstr("jobs     1 ready"));
  EXPECT_THAT(once.out, HasSubstr("\nmail "));
  const ToolRun no_terminal = run({"top"});
  EXPECT_EQ(no_terminal.code, 2);
  EXPECT_THAT(no_terminal.err, HasSubstr("--once"));
}

}  // namespace
}  // namespace perennial::tool
