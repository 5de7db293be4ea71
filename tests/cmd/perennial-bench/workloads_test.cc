// Every workload, in its quick form, does what it says on real servers, whose counters are
// compared. No test asserts a time.

#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>

#include "cmd/perennial-bench/bench.h"
#include "tests/cmd/perennial-bench/bench_servers.h"
#include "tests/support/temp_dir.h"

namespace perennial::bench {
namespace {

class Workloads : public testing::TestWithParam<Kind> {
 protected:
  Workloads() : server_(setup_of(GetParam())) {}

  void SetUp() override {
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
  }

  // Runs the workload against the server and reads the server's statistics.
  void run(const std::string& workload) {
    Result<Report> report =
        measure({.workloads = {workload}, .server = server_.address(), .quick = true});
    ASSERT_TRUE(report.ok()) << report.status().message();
    report_ = report.take();
    stats_ = stats_of(server_);
    for (const Measurement& each : report_.measurements) EXPECT_EQ(each.server, server_.address());
  }

  uint64_t measured(const std::string& workload, const std::string& operation) const {
    return find(report_, workload, operation).latencies.total();
  }

  // Puts were measured, the server has all jobs, and none was reserved.
  void expect_puts_only(const std::string& workload) {
    EXPECT_GT(measured(workload, "put"), 0U);
    EXPECT_GE(stats_.count("total-jobs"), measured(workload, "put"));
    // The last put may have been interrupted within its body.
    EXPECT_GE(stats_.count("cmd-put"), stats_.count("total-jobs"));
    EXPECT_EQ(stats_.count("current-jobs-ready"), stats_.count("total-jobs"));
  }

  support::ServerProcess server_;
  Report report_;
  tool::StatsReply stats_;
};

TEST_P(Workloads, PutPuts) {
  run("put");
  expect_puts_only("put");
  EXPECT_EQ(report_.measurements.size(), 2U);
}

TEST_P(Workloads, PutPipelinedPuts) {
  run("put-pipelined");
  expect_puts_only("put-pipelined");
}

TEST_P(Workloads, LatencyPutsFromOneConnection) {
  run("latency");
  expect_puts_only("latency");
}

TEST_P(Workloads, SteadyPutsAtItsRate) {
  run("steady");
  expect_puts_only("steady");
  EXPECT_EQ(report_.measurements.front().setting, "2000/s");
}

TEST_P(Workloads, BodiesPutsFourSizes) {
  run("bodies");
  expect_puts_only("bodies");
  ASSERT_EQ(report_.measurements.size(), 4U);
  EXPECT_EQ(report_.measurements.back().setting, "64 KB");
}

TEST_P(Workloads, CyclesDeleteWhatWasPut) {
  for (const char* workload : {"cycle", "cycle-deep"}) {
    SCOPED_TRACE(workload);
    run(workload);
    EXPECT_GT(measured(workload, "put"), 0U);
    EXPECT_GT(measured(workload, "delete"), 0U);
    EXPECT_GE(stats_.count("cmd-put"), measured(workload, "put"));
    EXPECT_GE(stats_.count("cmd-delete"), measured(workload, "delete"));
    EXPECT_GE(stats_.count("cmd-reserve"), stats_.count("cmd-delete"));
  }
}

TEST_P(Workloads, CycleBatchDeletesWhatWasPut) {
  run("cycle-batch");
  std::vector<std::string> settings;
  for (const Measurement& each : report_.measurements)
    if (each.operation == "cycle") settings.push_back(each.setting);
  EXPECT_GT(measured("cycle-batch", "put"), 0U);
  EXPECT_GE(stats_.count("cmd-put"), measured("cycle-batch", "put"));
  if (GetParam().program != support::Program::Perenniald) {
    EXPECT_EQ(settings, (std::vector<std::string>{"1x1"}));
    return;
  }
  EXPECT_EQ(settings, (std::vector<std::string>{"1x1", "1x10", "2x10"}));
  EXPECT_GT(measured("cycle-batch", "put-batch"), 0U);
  EXPECT_GE(stats_.count("cmd-put-batch"), measured("cycle-batch", "put-batch"));
  EXPECT_GE(stats_.count("cmd-reserve-batch"), stats_.count("cmd-delete-batch"));
  EXPECT_GE(stats_.count("cmd-delete-batch"), measured("cycle-batch", "delete-batch"));
  // Each batch has ten jobs. Those that were in flight at the end may be there still.
  EXPECT_EQ(stats_.count("total-jobs"),
            stats_.count("cmd-put") + 10 * stats_.count("cmd-put-batch"));
  EXPECT_LE(stats_.count("current-jobs-ready"), 31U);
}

TEST_P(Workloads, MixedDoesEverything) {
  run("mixed");
  for (const char* key : {"cmd-put", "cmd-reserve-with-timeout", "cmd-delete", "cmd-release",
                          "cmd-bury", "cmd-kick", "cmd-peek-ready"})
    EXPECT_GT(stats_.count(key), 0U) << key;
  EXPECT_GE(stats_.count("total-jobs"), measured("mixed", "put"));
  EXPECT_GE(stats_.count("cmd-bury"), measured("mixed", "bury"));
  const uint64_t all = measured("mixed", "put") + measured("mixed", "reserve") +
                       measured("mixed", "delete") + measured("mixed", "release") +
                       measured("mixed", "bury") + measured("mixed", "kick") +
                       measured("mixed", "peek");
  EXPECT_EQ(measured("mixed", "all"), all);
}

TEST_P(Workloads, BacklogKeepsItsSize) {
  run("backlog");
  EXPECT_EQ(stats_.count("current-jobs-ready"), 300U);
  EXPECT_EQ(stats_.count("total-jobs"), stats_.count("cmd-delete") + 300);
  ASSERT_EQ(report_.measurements.size(), 4U);
  for (const Measurement& each : report_.measurements) EXPECT_GT(figure_of(each, "cost"), 0);
}

TEST_P(Workloads, TubesHaveAJobEach) {
  run("tubes");
  // There are 50 in each of two runs, in the same tubes.
  EXPECT_GE(stats_.count("current-tubes"), 50U);
  EXPECT_GE(stats_.count("total-connections"), 100U);
  EXPECT_GE(stats_.count("cmd-use"), 100U);
  EXPECT_GE(stats_.count("total-jobs"), measured("tubes", "put") + 100);
}

TEST_P(Workloads, CustomFollowsItsOptions) {
  const Result<Report> report = measure({.workloads = {"custom"},
                                         .server = server_.address(),
                                         .quick = true,
                                         .connections = 3,
                                         .in_flight = 7,
                                         .tubes = 20,
                                         .idle = 30});
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->measurements.size(), 1U);
  EXPECT_EQ(report->measurements[0].setting, "3x7, 20 tubes, 30 idle");
  const tool::StatsReply stats = stats_of(server_);
  EXPECT_GE(stats.count("current-jobs-ready"), report->measurements[0].latencies.total() + 20);
  EXPECT_GE(stats.count("total-connections"), 33U);
}

TEST_P(Workloads, TimelineHoldsWhatWasMeasured) {
  run("put");
  for (const Measurement& each : report_.measurements) {
    const uint64_t in_time = std::reduce(each.timeline.begin(), each.timeline.end());
    EXPECT_EQ(each.timeline.size(), 1U);  // An interval is a tenth of a second.
    EXPECT_LE(in_time, each.latencies.total());
  }
}

class OwnServer : public testing::TestWithParam<Kind> {
 protected:
  // Runs with servers that --against starts, of which nothing may remain.
  Report run(std::vector<std::string> workloads) {
    const support::TempDir dir;
    Result<Report> report = measure({.workloads = std::move(workloads),
                                     .against = {"it=" + command_of(GetParam())},
                                     .dir = dir.path(),
                                     .quick = true});
    EXPECT_TRUE(report.ok()) << report.status().message();
    EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
    return report.ok() ? report.take() : Report();
  }
};

TEST_P(OwnServer, ComesBackWithWhatItKeeps) {
  const Report report = run({"restart", "memory"});
  ASSERT_EQ(report.measurements.size(), 2U);
  EXPECT_EQ(figure_of(find(report, "restart", "start"), "lost"), GetParam().keeps ? 0 : 300);
  EXPECT_GT(figure_of(find(report, "restart", "start"), "start"), 0);
  EXPECT_GT(figure_of(find(report, "memory", "resident"), "resident"), 1 << 20);
  EXPECT_EQ(find(report, "memory", "resident").setting, "300 jobs");
}

TEST_P(OwnServer, IsFilledAndDrained) {
  const Report report = run({"drain"});
  std::vector<std::string> settings;
  for (const Measurement& each : report.measurements) {
    settings.push_back(each.setting + " " + each.operation);
    const bool resident = each.operation == "resident";
    EXPECT_GT(resident ? figure_of(each, "resident") : 2 << 20, 1 << 20);
  }
  EXPECT_EQ(settings,
            (std::vector<std::string>{"100 jobs resident", "200 jobs resident", "300 jobs resident",
                                      "400 jobs resident", "400 jobs put",
                                      "400 jobs reserve-delete", "drained resident"}));
  EXPECT_EQ(find(report, "drain", "put").latencies.total(), 400U);
  EXPECT_EQ(find(report, "drain", "reserve-delete").latencies.total(), 400U);
}

TEST_P(OwnServer, LeavesADirectory) {
  const Report report = run({"disk"});
  ASSERT_EQ(report.measurements.size(), 2U);
  for (const Measurement& each : report.measurements) EXPECT_GT(figure_of(each, "disk"), 0);
}

TEST_P(OwnServer, HasACapOnItsJobs) {
  const support::TempDir dir;
  const Result<Report> report = measure({.workloads = {"restart", "backlog"},
                                         .against = {"it=" + command_of(GetParam())},
                                         .dir = dir.path(),
                                         .rounds = 2,
                                         .jobs = 50,
                                         .quick = true});
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(find(*report, "restart", "start").setting, "50 jobs");
  const Measurement& put = find(*report, "backlog", "put");
  EXPECT_EQ(put.setting, "50 jobs");
  EXPECT_EQ(put.per_second.size(), 2U);
  EXPECT_EQ(report->measurements.size(), 3U);
}

std::string kind_name(const testing::TestParamInfo<Kind>& param) {
  return param.param.name;
}

INSTANTIATE_TEST_SUITE_P(Bench, Workloads, testing::ValuesIn(kinds_of_servers()), kind_name);
INSTANTIATE_TEST_SUITE_P(Bench, OwnServer, testing::ValuesIn(kinds_of_servers()), kind_name);

TEST(Comparison, HasEveryServerInItsPlace) {
  const support::TempDir dir;
  const Kind kind = kinds_of_servers().front();
  const Result<Report> report =
      measure({.workloads = {"latency"},
               .against = {"one=" + command_of(kind), "two=" + command_of(kind)},
               .dir = dir.path(),
               .rounds = 2,
               .quick = true});
  ASSERT_TRUE(report.ok()) << report.status().message();
  ASSERT_EQ(report->measurements.size(), 2U);
  EXPECT_EQ(report->measurements[0].server, "one");
  EXPECT_EQ(report->measurements[1].server, "two");
  EXPECT_EQ(report->measurements[1].per_second.size(), 2U);
  EXPECT_EQ(report->rounds, 2U);
  ASSERT_EQ(report->versions.size(), 2U);
  EXPECT_TRUE(report->versions[1].starts_with("two: ")) << report->versions[1];
  EXPECT_NE(report->versions[1].find(", version "), std::string::npos) << report->versions[1];
}

}  // namespace
}  // namespace perennial::bench
