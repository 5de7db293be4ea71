// What destroys asks: flush, move, kick --all, delete of several jobs and drain. And what these and
// other changes report with --json.

#include <string>

#include <fmt/format.h>

#include "tests/cmd/perennial/screen.h"
#include "tests/cmd/perennial/tool_and_server.h"

namespace perennial::tool {
namespace {

using nlohmann::json;
using support::Screen;
using support::ToolRun;
using testing::HasSubstr;

class Destroying : public ToolAndServer {
 protected:
  // One ready and one buried job.
  void put_two() {
    put("b", {"--tube", "mail", "--pri", "7"});
    EXPECT_EQ(run({"bury", "1"}).code, 0);
    put("r", {"--tube", "mail"});
  }
  uint64_t job_count(const std::string& tube) {
    const json all = stats("--tube", tube);
    return all["current-jobs-ready"].get<uint64_t>() + all["current-jobs-buried"].get<uint64_t>();
  }
  json parsed(std::vector<std::string> arguments, int code = 0) {
    arguments.emplace_back("--json");
    const ToolRun done = run(std::move(arguments));
    EXPECT_EQ(done.code, code) << done.err;
    return json::parse(done.out, nullptr, false);
  }
};

struct Destroyer {
  std::vector<std::string> line;
  std::string would;  // What it says that it would do.
};

TEST_F(Destroying, WithoutATerminalItTakesYes) {
  put_two();
  const std::string at = " at " + server_.address();
  const Destroyer all[] = {
      {{"flush", "mail"}, "delete 2 jobs of the tube 'mail' (1 ready, 1 buried)" + at},
      {{"flush", "mail", "--state", "buried"}, "delete 1 job of the tube 'mail' (1 buried)" + at},
      {{"flush", "mail", "--match", "pri=7"}, "delete 1 job of the tube 'mail' (1 buried)" + at},
      {{"flush", "mail", "--match", "timeouts=0"},
       "delete 2 jobs of the tube 'mail' (1 ready, 1 buried)" + at},
      {{"move", "mail", "other"},
       "move 2 jobs of the tube 'mail' (1 ready, 1 buried) to the tube 'other'" + at},
      {{"move", "mail", "other", "--count", "1"},
       "move 1 job of the tube 'mail' to the tube 'other'" + at},
      {{"kick", "--tube", "mail", "--all"}, "kick 1 job of the tube 'mail' (1 buried)" + at},
      {{"delete", "1", "2", "3"}, "delete 2 jobs (1 ready, 1 buried)" + at},
      {{"drain"}, "drain the server" + at + ", so that it refuses every put ("},
  };
  for (const Destroyer& one : all) {
    SCOPED_TRACE(one.would);
    const ToolRun refused = run(one.line);
    EXPECT_EQ(refused.code, 2);
    EXPECT_EQ(refused.out, "");
    EXPECT_THAT(refused.err, HasSubstr("this would " + one.would));
    EXPECT_THAT(refused.err, HasSubstr("; there is no terminal to ask on: give --yes\n"));
    std::vector<std::string> dry = one.line;
    dry.emplace_back("--dry-run");
    const ToolRun would = run(dry);
    EXPECT_EQ(would.code, 0) << would.err;
    EXPECT_THAT(would.out, HasSubstr("would " + one.would));
  }
  EXPECT_EQ(job_count("mail"), 2U);
  EXPECT_EQ(json::parse(run({"stats", "--json"}).out)["draining"], false);
  EXPECT_EQ(run({"delete", "1", "2", "--yes"}).out, "deleted 1\ndeleted 2\n");
}

TEST_F(Destroying, NobodyIsAskedAboutNothing) {
  put("x");
  const ToolRun none = run({"flush", "default", "--state", "buried"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, fmt::format("nothing to do: the tube 'default' at {} has no such jobs\n",
                                  server_.address()));
  EXPECT_EQ(parsed({"kick", "--tube", "default", "--all"}),
            (json{{"tube", "default"}, {"kicked", 0}}));
  // Ids that are not there are errors, as they always were.
  EXPECT_EQ(run({"delete", "8", "9"}).code, 1);
  EXPECT_EQ(run({"delete", "1"}).out, "deleted 1\n");
}

TEST_F(Destroying, ListShowsWhatAFlushWouldTake) {
  put_two();
  put("q", {"--tube", "mail", "--pri", "9"});
  const auto ids = [this](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"list", "mail"});
    std::vector<int> found;
    const json list = parsed(flags);
    for (const auto& each : list["jobs"]) found.push_back(each["id"].get<int>());
    return found;
  };
  using Ids = std::vector<int>;
  EXPECT_EQ(ids({"--match", "pri=7-9"}), (Ids{1, 3}));
  EXPECT_EQ(ids({"--match", "pri=7-9", "--state", "buried"}), (Ids{1}));
  EXPECT_EQ(ids({"--match", "reserves=1-,age=-60"}), (Ids{1}));
  EXPECT_EQ(ids({"--match", "timeouts=0,pri=9"}), (Ids{3}));
  EXPECT_EQ(ids({"--match", "timeouts=1-"}), (Ids{}));
  const json first = parsed({"list", "mail", "--match", "pri=7-9", "--limit", "1"});
  EXPECT_EQ(first["cursor"], 1);
  EXPECT_EQ(parsed({"list", "mail", "--match", "pri=7-9", "--after", "1"})["jobs"][0]["id"], 3);
  EXPECT_THAT(run({"list", "mail", "--match", "size=1"}).err, HasSubstr("is no list of"));
}

TEST_F(Destroying, ChangesAreReportedAsJson) {
  EXPECT_EQ(parsed({"put", "x", "--tube", "mail", "--idp", "k"}),
            json::parse(R"({"tube":"mail","jobs":[{"id":"1","duplicate":false}],"errors":[]})"));
  EXPECT_EQ(parsed({"put", "x", "--tube", "mail", "--idp", "k"}, 3),
            json::parse(R"({"tube":"mail","jobs":[{"id":"1","duplicate":true,"state":"ready"}],)"
                        R"("errors":[]})"));
  const ToolRun lines = run({"put", "--lines", "--tube", "mail", "--json"},
                            "a\n" + std::string(70'000, 'x') + "\nb\n");
  EXPECT_EQ(lines.code, 1);
  const json put = json::parse(lines.out);
  EXPECT_EQ(put["jobs"].size(), 2U);
  EXPECT_EQ(put["errors"][0]["line"], 2);
  EXPECT_THAT(put["errors"][0]["message"].get<std::string>(), HasSubstr("JOB_TOO_BIG"));
  EXPECT_EQ(parsed({"bury", "1", "99"}, 1), json::parse(R"({"buried":["1"],"errors":[{"id":"99",)"
                                                        R"("message":"there is no such job"}]})"));
  EXPECT_EQ(parsed({"set", "job", "1", "--pri", "3"}),
            json::parse(R"({"changed":["1"],"errors":[]})"));
  EXPECT_EQ(parsed({"kick", "1"}), json::parse(R"({"kicked":["1"],"errors":[]})"));
  EXPECT_EQ(parsed({"kick", "--tube", "mail", "--count", "5"}),
            json::parse(R"({"tube":"mail","kicked":0})"));
  EXPECT_EQ(parsed({"pause", "mail", "60"}), json::parse(R"({"tube":"mail","pause_seconds":60})"));
  EXPECT_EQ(parsed({"set", "tube", "mail", "--tries", "5"}),
            json::parse(R"({"tube":"mail","changed":true})"));
  EXPECT_EQ(parsed({"delete", "1", "99", "--dry-run"}),
            json::parse(R"({"dry_run":true,"deleted":["1"],"errors":[{"id":"99",)"
                        R"("message":"it is not there, or a worker has it"}]})"));
  EXPECT_EQ(parsed({"delete", "1"}), json::parse(R"({"deleted":["1"],"errors":[]})"));
  EXPECT_EQ(parsed({"move", "mail", "other", "--dry-run"}),
            json::parse(R"({"dry_run":true,"tube":"mail","to":"other","moved":2})"));
  EXPECT_EQ(parsed({"move", "mail", "other", "--count", "1", "--yes"}),
            json::parse(R"({"tube":"mail","to":"other","moved":1})"));
  EXPECT_EQ(parsed({"flush", "mail", "--yes"}), json::parse(R"({"tube":"mail","deleted":1})"));
  EXPECT_EQ(parsed({"drain", "--dry-run"}),
            (json{{"dry_run", true}, {"server", server_.address()}, {"draining", true}}));
  EXPECT_EQ(parsed({"drain", "--yes"}), (json{{"server", server_.address()}, {"draining", true}}));
  EXPECT_EQ(parsed({"undrain"}), (json{{"server", server_.address()}, {"draining", false}}));
}

class DestroyingOnATerminal : public Destroying {
 protected:
  void SetUp() override {
    if (support::output_of("tmux -V 2>/dev/null").empty())
      GTEST_SKIP() << "tmux is not installed, and it is the terminal of this test";
    Destroying::SetUp();
  }
  std::string command(const std::string& line) const {
    return fmt::format("{} {} --server {}", support::tool_path(), line, server_.address());
  }
};

TEST_F(DestroyingOnATerminal, YesIsYes) {
  put_two();
  const Screen screen(server_.dir(), command("flush mail"));
  EXPECT_SHOWN(screen, "Delete 2 jobs of the tube 'mail' (1 ready, 1 buried) at");
  screen.tmux("send-keys Y Enter");
  EXPECT_SHOWN(screen, "mail: deleted 2 jobs");
  EXPECT_SHOWN(screen, "ended with 0");
}

// A person has not seen the number of jobs yet.
TEST_F(DestroyingOnATerminal, WhatWasTypedBeforeIsNoAnswer) {
  put_two();
  const Screen screen(server_.dir(), "sleep 2; " + command("delete 1 2"));
  screen.tmux("send-keys y Enter");
  EXPECT_SHOWN(screen, "Delete 2 jobs (1 ready, 1 buried) at");
  EXPECT_EQ(job_count("mail"), 2U);
  screen.tmux("send-keys Enter");
  EXPECT_SHOWN(screen, "ended with 1");
  EXPECT_EQ(job_count("mail"), 2U);
}

TEST_F(DestroyingOnATerminal, AnythingElseIsNo) {
  put_two();
  const Screen screen(server_.dir(), command("delete 1 2"));
  EXPECT_SHOWN(screen, "Delete 2 jobs (1 ready, 1 buried) at");
  screen.tmux("send-keys Enter");
  EXPECT_SHOWN(screen, "perennial delete: nothing was changed");
  EXPECT_SHOWN(screen, "ended with 1");
  EXPECT_EQ(job_count("mail"), 2U);
}

}  // namespace
}  // namespace perennial::tool
