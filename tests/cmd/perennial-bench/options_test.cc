// Invalid options are refused before anything is started, with a message that says what to do.

#include <gtest/gtest.h>

#include "cmd/perennial-bench/bench.h"
#include "cmd/perennial-bench/command/workload_list.h"
#include "cmd/perennial-bench/workloads/workloads.h"
#include "tests/cmd/perennial/canned_server.h"

namespace perennial::bench {
namespace {

struct RefusedCase {
  const char* name;
  BenchOptions options;
  std::string want;
};

void PrintTo(const RefusedCase& refused, std::ostream* out) {
  *out << refused.name;
}

class Refused : public testing::TestWithParam<RefusedCase> {};

TEST_P(Refused, SaysWhy) {
  const Result<Report> report = measure(GetParam().options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.status().code(), StatusCode::InvalidArgument);
  EXPECT_NE(report.status().message().find(GetParam().want), std::string::npos)
      << report.status().message();
}

const std::string command = "x=perenniald -p {port}";

INSTANTIATE_TEST_SUITE_P(
    Bench, Refused,
    testing::Values(
        RefusedCase{"Workload", {.workloads = {"putt"}}, "there is no workload 'putt'"},
        RefusedCase{"NoName", {.against = {"perenniald -p {port}"}}, "write it as NAME=COMMAND"},
        RefusedCase{"EmptyName", {.against = {"=perenniald -p {port}"}}, "NAME=COMMAND"},
        RefusedCase{"NoCommand", {.against = {"x="}}, "NAME=COMMAND"},
        RefusedCase{"NoPort", {.against = {"x=perenniald -p 11300"}}, "does not say {port}"},
        RefusedCase{"SameName", {.against = {command, command}}, "the name is taken"},
        RefusedCase{"Both", {.server = "127.0.0.1:1", .against = {command}}, "choose one"},
        RefusedCase{"Address", {.server = "127.0.0.1:x"}, "x"},
        RefusedCase{"Restart",
                    {.workloads = {"restart"}, .server = "127.0.0.1:1"},
                    "restart needs a server that was started to be measured"},
        RefusedCase{"Memory", {.workloads = {"memory"}}, "memory needs a server"},
        RefusedCase{"MemoryAndRestart",
                    {.workloads = {"memory", "restart"}},
                    "memory and restart needs a server"},
        RefusedCase{"Disk", {.workloads = {"put", "disk"}}, "disk, drained needs a server"},
        RefusedCase{"All", {.workloads = {"all"}}, "needs a server"},
        RefusedCase{"PreloadOfARunningOne", {.preload = "/bin/sh"}, "--preload is for servers"},
        RefusedCase{"PreloadIsNotThere",
                    {.against = {command}, .preload = "/nowhere.so"},
                    "--preload /nowhere.so: No such file"},
        RefusedCase{"DelayOfNothing", {.against = {command}, .preload_us = 5}, "--preload-us"},
        RefusedCase{"Rounds", {.rounds = 0}, "--rounds 0: must be 1"},
        RefusedCase{"Jobs", {.jobs = 0}, "--jobs 0: must be 1"},
        RefusedCase{"Connections",
                    {.workloads = {"custom"}, .connections = 0},
                    "--connections 0: must be 1"},
        RefusedCase{"Recipe", {.in_flight = 4}, "--in-flight is for the workload custom"},
        RefusedCase{"Rate", {.rate = 100}, "--rate is for the workload steady"},
        RefusedCase{"NoRate", {.workloads = {"steady"}, .rate = 0}, "--rate 0: must be 1"},
        RefusedCase{"Batch", {.batch = 10}, "--batch is for the workload cycle-batch"},
        RefusedCase{
            "BatchOfOne", {.workloads = {"cycle-batch"}, .batch = 1}, "--batch 1: must be 2"},
        RefusedCase{"BatchTooLong",
                    {.workloads = {"cycle-batch"}, .batch = 1001},
                    "at most 1000 jobs and 1048576 bytes"},
        RefusedCase{"BatchTooBig",
                    {.workloads = {"cycle-batch"}, .body_bytes = 10'000, .batch = 1000},
                    "at most 1000 jobs and 1048576 bytes"},
        RefusedCase{
            "TooMuchInFlight",
            {.workloads = {"custom"}, .body_bytes = 1 << 30, .connections = 100, .in_flight = 100},
            "more than 4 GiB"}),
    [](const testing::TestParamInfo<RefusedCase>& param) { return param.param.name; });

TEST(Workloads, AreAllThere) {
  std::vector<std::string> names;
  for (const Workload& workload : all_workloads()) names.emplace_back(workload.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"put", "put-pipelined", "cycle", "cycle-deep", "cycle-batch",
                                      "latency", "steady", "mixed", "backlog", "tubes", "bodies",
                                      "memory", "restart", "drain", "disk", "custom"}));
}

struct TasksCase {
  const char* name;
  BenchOptions options;
  std::vector<std::string> want;
};

void PrintTo(const TasksCase& tasks, std::ostream* out) {
  *out << tasks.name;
}

class Tasks : public testing::TestWithParam<TasksCase> {};

TEST_P(Tasks, AreThoseOfTheNamedWorkloads) {
  const Result<std::vector<Task>> tasks = tasks_of(GetParam().options);
  ASSERT_TRUE(tasks.ok()) << tasks.status().message();
  std::vector<std::string> names;
  for (const Task& task : *tasks) names.push_back(task.name);
  EXPECT_EQ(names, GetParam().want);
}

// The settings for which budgets are written.
INSTANTIATE_TEST_SUITE_P(
    Bench, Tasks,
    testing::Values(TasksCase{"None", {}, {"put 50x1", "put 200x1"}},
                    TasksCase{"Twice", {.workloads = {"latency", "latency"}}, {"latency 1x1"}},
                    TasksCase{
                        "Shared", {.workloads = {"restart", "memory"}}, {"memory and restart"}},
                    TasksCase{"Restart", {.workloads = {"restart"}}, {"restart"}},
                    TasksCase{"All",
                              {.workloads = {"all"}},
                              {"put 50x1",
                               "put 200x1",
                               "put-pipelined 8x64",
                               "cycle 25+25",
                               "cycle-deep 8x32+32",
                               "cycle-batch 1x1",
                               "cycle-batch 1x100",
                               "cycle-batch 8x100",
                               "latency 1x1",
                               "steady 20000/s",
                               "mixed 50x1",
                               "backlog",
                               "tubes 1 tube",
                               "tubes 1 tube",
                               "tubes 10000 tubes, 10000 idle",
                               "tubes 10000 tubes, 10000 idle",
                               "bodies 64 B",
                               "bodies 1 KB",
                               "bodies 16 KB",
                               "bodies 64 KB",
                               "drain",
                               "disk, drained",
                               "disk, one buried job",
                               "memory and restart"}},
                    TasksCase{"Steady", {.workloads = {"steady"}, .rate = 500}, {"steady 500/s"}},
                    TasksCase{"Custom",
                              {.workloads = {"custom"}, .connections = 3, .idle = 4},
                              {"custom 3x1, 4 idle"}}),
    [](const testing::TestParamInfo<TasksCase>& param) { return param.param.name; });

TEST(Refused, AQuickRunIsOfAllWorkloads) {
  const Result<std::vector<Task>> tasks = tasks_of({.quick = true});
  ASSERT_TRUE(tasks.ok());
  EXPECT_EQ(tasks->size(), 24U);
}

TEST(WrongServers, AreNamed) {
  const support::CannedServer server("HTTP/1.1 400 Bad Request\r\n\r\n");
  const Result<Report> report = measure({.server = server.address(), .quick = true});
  ASSERT_FALSE(report.ok());
}

TEST(WrongServers, ThatEndAtOnceAreQuoted) {
  const Result<Report> report =
      measure({.workloads = {"put"}, .against = {"broken=echo no such thing {port}; exit 3"}});
  ASSERT_FALSE(report.ok());
  EXPECT_TRUE(
      report.status().message().starts_with("put 50x1: broken: the server ended: no such thing "))
      << report.status().message();
}

}  // namespace
}  // namespace perennial::bench
