// `perennial schedule ...` with a real server. Blind to what needs time to pass, but for one job.

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tests/cmd/perennial/tool_and_server.h"

namespace perennial::tool {
namespace {

using nlohmann::json;
using support::ToolRun;
using testing::HasSubstr;

class LiveSchedules : public ToolAndServer {
 protected:
  std::string ok(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "schedule");
    const ToolRun done = run(std::move(arguments));
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  }
  std::string write(const std::string& text) const {
    const std::string path = server_.dir() + "/schedules.yaml";
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(LiveSchedules, AreSetShownPausedRunAndDeleted) {
  EXPECT_EQ(ok({"set", "nightly", "report", "--tube", "reports", "--cron", "0 3 * * *", "--zone",
                "Europe/Berlin", "--overlap", "skip"}),
            "set nightly\n");
  json told = json::parse(ok({"show", "nightly", "--json"}));
  EXPECT_EQ(told["body"], "report");
  EXPECT_EQ(told["cron"], "0 3 * * *");
  EXPECT_EQ(told["state"], "active");
  EXPECT_EQ(json::parse(ok({"list", "--json"}))["schedules"].size(), 1U);
  EXPECT_EQ(ok({"run", "nightly"}), "1\n");
  EXPECT_EQ(run({"schedule", "run", "nightly"}).code, 3);
  EXPECT_EQ(ok({"pause", "--tube", "reports"}), "paused nightly\n");
  EXPECT_THAT(ok({"list"}), HasSubstr(" paused "));
  EXPECT_EQ(ok({"pause", "--all", "--resume"}), "resumed nightly\n");
  EXPECT_EQ(ok({"delete", "nightly"}), "deleted nightly\n");
  EXPECT_EQ(run({"schedule", "show", "nightly"}).code, 1);
}

TEST_F(LiveSchedules, OfAFileAreAppliedOnce) {
  const std::string path = write(
      "schedules:\n"
      "- {name: a, tube: t, cron: 0 3 * * *, zone: Europe/Berlin, body: x, missed: all}\n"
      "- {name: b, tube: t, every: 1500ms, body: y, jitter: 1s, idp: 'k:1h', until: ttl}\n"
      "- {name: c, at: 2200-01-01T00:00:00Z, body: z, tries: 5, backoff: 10, con: c, paused: "
      "yes}\n");
  EXPECT_EQ(ok({"apply", path}), "+ a\n+ b\n+ c\n= 0 unchanged\n");
  EXPECT_EQ(ok({"apply", path}), "= 3 unchanged\n");
  ok({"pause", "b"});
  EXPECT_EQ(ok({"apply", path}), "= 3 unchanged\n");
  const std::string fewer = write("schedules: [{name: b, tube: t, every: 2s, body: y}]\n");
  EXPECT_EQ(ok({"apply", fewer, "--prune", "--yes"}),
            "~ b: every: 1500ms -> 2\n~ b: idp: k:3600 -> -\n~ b: until: ttl -> -\n"
            "~ b: jitter: 1 -> 0\n- a\n= 0 unchanged\n");
  EXPECT_EQ(ok({"apply", fewer, "--prune-all", "--yes"}), "- c\n= 1 unchanged\n");
}

TEST_F(LiveSchedules, OfACrontabAreTakenAndExported) {
  const std::string path = std::string(SCHEDULES_DIR) + "/crontab.yaml";
  EXPECT_THAT(ok({"apply", path}), HasSubstr("+ certbot\n"));
  EXPECT_EQ(ok({"apply", path}), "= 33 unchanged\n");
  const std::string exported = write(ok({"export"}));
  EXPECT_EQ(ok({"apply", exported}), "= 33 unchanged\n");
  ok({"delete", "certbot"});
  EXPECT_EQ(ok({"apply", exported}), "+ certbot\n= 32 unchanged\n");
}

TEST_F(LiveSchedules, WhoseOneTimeHasPassedAreNotExported) {
  ok({"set", "past", "a", "--tube", "t", "--at", "2020-01-01T00:00:00Z", "--missed", "none"});
  ok({"set", "coming", "a", "--tube", "t", "--at", "2200-01-01T00:00:00Z"});
  for (int i = 0; i < 100; ++i) {
    if (json::parse(ok({"show", "past", "--json"}))["state"] == "over") break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const ToolRun done = run({"schedule", "export", "--tube", "t"});
  EXPECT_EQ(done.code, 0);
  EXPECT_EQ(done.out,
            "schedules:\n  - name: coming\n    tube: t\n    at: 2200-01-01T00:00:00.000Z\n"
            "    body: \"a\"\n");
  EXPECT_EQ(done.err,
            "perennial schedule export: 1 schedules are left out, because their one time "
            "has passed\n");
}

TEST_F(LiveSchedules, PutJobs) {
  ok({"set", "tick", "tock", "--every", "1s"});
  for (int i = 0; i < 100; ++i) {
    if (json::parse(ok({"show", "tick", "--json"}))["fired"].get<int>() > 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_EQ(run({"peek", "--ready", "--body"}).out, "tock");
  const ToolRun worked =
      support::run_tool({"work", "--server", server_.address(), "--tube", "default", "--once", "--",
                         "sh", "-c", "echo $PERENNIAL_SCHEDULE $PERENNIAL_PLANNED"});
  EXPECT_THAT(worked.out, testing::MatchesRegex("tick 20..-..-..T..:..:..[.]...Z\n"));
}

TEST_F(LiveSchedules, WithAWrongZoneAreRefusedByTheServerToo) {
  EXPECT_THAT(run({"schedule", "set", "a", "b", "--cron", "@daily", "--zone", "Europe/Bonn"}).err,
              HasSubstr("there is no time zone"));
}

}  // namespace
}  // namespace perennial::tool
