// perennial export-beanstalkd and perennial copy: what they move, what it leaves, and that it can
// be killed at any moment.

#include <csignal>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "tests/cmd/perennial/export/inventory.h"
#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/seed.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

using support::ask;
using support::inventory;
using support::JobFacts;
using support::Program;
using support::ServerProcess;
using support::ToolProcess;
using support::ToolRun;
using testing::HasSubstr;

std::vector<std::string> arguments(const ServerProcess& from, const ServerProcess& to,
                                   std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {"export-beanstalkd", "--server", from.address(), "--to", to.address()});
  return more;
}

JobId put(ServerConnection& server, const std::string& body, uint32_t priority = 5,
          uint32_t delay_s = 0, uint32_t ttr_s = 60) {
  const std::string reply =
      ask(server, Put{priority, delay_s, ttr_s, static_cast<uint32_t>(body.size())}, body);
  CHECK(reply.starts_with("INSERTED "));
  return std::stoull(reply.substr(9));
}

void bury(ServerConnection& server, JobId id, uint32_t priority = 5) {
  CHECK(ask(server, ReserveJob{id}).starts_with("RESERVED"));
  CHECK(ask(server, Bury{id, priority}) == "BURIED");
}

// The jobs by their bodies, which are unique.
std::map<std::string, std::pair<JobId, JobFacts>> by_body(const ServerProcess& server) {
  std::map<std::string, std::pair<JobId, JobFacts>> jobs;
  for (auto& [id, job] : inventory(server.address())) jobs[job.body] = {id, job};
  return jobs;
}

struct RouteCase {
  const char* name;
  Program from;
  Program to;
  bool is_copy = false;  // perennial copy, which does the same.
};
void PrintTo(const RouteCase& route, std::ostream* out) {
  *out << route.name;
}

class Export : public testing::TestWithParam<RouteCase> {
 protected:
  void SetUp() override {
    for (ServerProcess* const server : {&from_, &to_}) {
      const Status started = server->start();
      ASSERT_TRUE(started.ok()) << started.message();
    }
  }

  static std::vector<std::string> arguments(const ServerProcess& from, const ServerProcess& to,
                                            std::vector<std::string> more = {}) {
    if (!GetParam().is_copy) return tool::arguments(from, to, std::move(more));
    more.insert(more.begin(), {"copy", "--from", from.address(), "--to", to.address()});
    return more;
  }

  // The test does not need durability, which takes time.
  ServerProcess from_{{.program = GetParam().from, .flags = {"-F"}}};
  ServerProcess to_{{.program = GetParam().to, .flags = {"-F"}}};
};

INSTANTIATE_TEST_SUITE_P(
    Tool, Export,
    testing::Values(RouteCase{"ToBeanstalkd", Program::Perenniald, Program::Beanstalkd},
                    RouteCase{"ToPerenniald", Program::Perenniald, Program::Perenniald},
                    RouteCase{"FromBeanstalkd", Program::Beanstalkd, Program::Perenniald},
                    RouteCase{"CopyFromBeanstalkd", Program::Beanstalkd, Program::Perenniald,
                              true}),
    [](const auto& param) { return param.param.name; });

TEST_P(Export, KeepsTubePriorityTtrDelayStateAndBytes) {
  ServerConnection source = support::connect(from_.address());
  ask(source, Use{"mail"});
  const std::string binary("\0\r\n\xff\r\nput 0 0 0 0\r\n", 19);
  put(source, binary, 7, 0, 77);
  put(source, "", 8);
  put(source, "later", 9, 5000, 99);
  ask(source, Use{"other"});
  bury(source, put(source, "aside"), 11);
  const ToolRun run = support::run_tool(arguments(from_, to_, {"--json"}));
  EXPECT_EQ(run.code, 0) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["ready"], 2);
  EXPECT_EQ(json["delayed"], 1);
  EXPECT_EQ(json["buried"], 1);
  EXPECT_EQ(json["left_total"], 0);

  EXPECT_TRUE(inventory(from_.address()).empty());
  auto jobs = by_body(to_);
  ASSERT_EQ(jobs.size(), 4U);
  const auto check = [&](const std::string& body, const char* tube, const char* state,
                         uint64_t priority, uint64_t ttr_s) {
    const JobFacts& job = jobs.at(body).second;
    EXPECT_EQ(job.tube, tube);
    EXPECT_EQ(job.state, state);
    EXPECT_EQ(job.priority, priority);
    EXPECT_EQ(job.ttr_s, ttr_s);
  };
  check(binary, "mail", "ready", 7, 77);
  check("", "mail", "ready", 8, 60);
  check("later", "mail", "delayed", 9, 99);
  EXPECT_LE(jobs.at("later").second.time_left_s, 5001U);
  EXPECT_GT(jobs.at("later").second.time_left_s, 4900U);
  check("aside", "other", "buried", 11, 60);
}

// An operator moves a queue to a second server while its disk goes bad.
TEST(ExportOfOptions, KeepsThemAtAPerennial) {
  ServerProcess from({.flags = {"-F"}});
  ServerProcess to({.flags = {"-F"}});
  ASSERT_TRUE(from.start().ok());
  ASSERT_TRUE(to.start().ok());
  const auto run = [](const ServerProcess& server, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server.address()});
    const ToolRun ran = support::run_tool(arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out;
  };
  const std::vector<std::string> full = {
      "put",   "--tube", "mail",      "--expire", "3600",   "--tries", "5",   "--backoff",
      "10:60", "--dead", "graveyard", "--idp",    "k1:300", "--con",   "c:2", "full"};
  const std::string id = run(from, full);
  std::vector<std::string> later = full;
  later[12] = "k2";
  later.insert(later.begin() + 1, {"--delay", "1000"});
  run(from, later);
  run(from, {"set", "tube", "mail", "--rate", "5:1", "--tries", "7", "--reserved", "9", "--keep",
             "2d", "--keep-max", "50"});
  run(from, {"note", "2", "the url was wrong"});
  const ToolRun moved = support::run_tool(arguments(from, to, {"--json"}));
  EXPECT_EQ(moved.code, 0) << moved.err << moved.out;
  EXPECT_EQ(nlohmann::json::parse(moved.out)["without_notes"], 1) << "a put has none";
  const auto of = [&](const ServerProcess& server, const std::string& job) {
    return nlohmann::json::parse(run(server, {"peek", "--json", job}));
  };
  for (const char* const job : {"1", "2"}) {
    const auto copy = of(to, job);
    EXPECT_EQ(copy["tries"], 5) << copy;
    EXPECT_EQ(copy["backoff"], "10:60") << copy;
    EXPECT_EQ(copy["dead"], "graveyard") << copy;
    EXPECT_EQ(copy["con"], "c:2") << copy;
    const bool is_delayed = copy["state"] == "delayed";
    EXPECT_EQ(copy["idp"], is_delayed ? "k2" : "k1") << copy;
    EXPECT_EQ(copy["idp-ttl"], is_delayed ? 0 : 300) << copy;
    const double whole = is_delayed ? 4600 : 3600;
    EXPECT_NEAR(copy["expire-left"].get<double>(), whole, 20) << copy;
  }
  const auto tube = nlohmann::json::parse(run(to, {"stats", "--json", "--tube", "mail"}));
  EXPECT_EQ(tube["tries"], 7) << tube;
  EXPECT_EQ(tube["rate"], "5:1") << tube;
  EXPECT_EQ(tube["reserved-max"], 9) << tube;
  EXPECT_EQ(tube["keep"], 172'800) << tube;
  EXPECT_EQ(tube["keep-max"], 50) << tube;
}

// The put of a key that is taken is answered with the id of the job that has it. It was taken for
// the copy: the original was deleted, and a ready job there buried in the place of a buried one.
TEST(ExportOfOptions, LeavesAJobWhoseKeyAnotherOneHasThere) {
  ServerProcess from({.flags = {"-F"}});
  ServerProcess to({.flags = {"-F"}});
  ASSERT_TRUE(from.start().ok());
  ASSERT_TRUE(to.start().ok());
  const auto run = [](const ServerProcess& server, std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--server", server.address()});
    return support::run_tool(arguments).code;
  };
  EXPECT_EQ(run(from, {"put", "--tube", "pay", "--idp", "ready", "mine"}), 0);
  EXPECT_EQ(run(from, {"put", "--tube", "pay", "--idp", "buried", "mine, buried"}), 0);
  EXPECT_EQ(run(from, {"put", "--tube", "pay", "--idp", "gone", "mine, late"}), 0);
  EXPECT_EQ(run(from, {"put", "--tube", "pay", "--idp", "same", "as a killed move left it"}), 0);
  EXPECT_EQ(run(from, {"put", "--tube", "pay", "--idp", "free", "moves"}), 0);
  EXPECT_EQ(run(from, {"bury", "2"}), 0);
  EXPECT_EQ(run(to, {"put", "--tube", "pay", "--idp", "ready", "theirs"}), 0);
  EXPECT_EQ(run(to, {"put", "--tube", "pay", "--idp", "buried", "theirs, ready"}), 0);
  EXPECT_EQ(run(to, {"put", "--tube", "pay", "--idp", "gone:600", "done"}), 0);
  EXPECT_EQ(run(to, {"put", "--tube", "pay", "--idp", "same", "as a killed move left it"}), 0);
  EXPECT_EQ(run(to, {"delete", "3"}), 0);
  const ToolRun moved = support::run_tool(arguments(from, to));
  EXPECT_EQ(moved.code, 1);
  EXPECT_THAT(moved.out, HasSubstr("with a key that another job of the other server has, or had"));
  const auto left = by_body(from);
  EXPECT_EQ(left.size(), 3U);
  EXPECT_EQ(left.at("mine").second.state, "ready");
  EXPECT_EQ(left.at("mine, buried").second.state, "buried");
  EXPECT_EQ(left.at("mine, late").second.state, "ready");
  const auto there = by_body(to);
  EXPECT_EQ(there.size(), 4U);
  EXPECT_EQ(there.at("theirs, ready").second.state, "ready");
  EXPECT_TRUE(there.contains("moves"));
}

TEST(ExportOfOptions, LeavesThemIfTheOtherServerDoesNotKnowThem) {
  ServerProcess from({.flags = {"-F"}});
  ServerProcess to({.program = Program::Beanstalkd, .flags = {"-F"}});
  ASSERT_TRUE(from.start().ok());
  ASSERT_TRUE(to.start().ok());
  ServerConnection source = support::connect(from.address());
  ASSERT_EQ(support::run_tool({"put", "--server", from.address(), "--tries", "5", "kept"}).code, 0);
  for (int i = 0; i < 100; ++i) {
    put(source, fmt::format("plain-{}", i));
    support::run_tool({"put", "--server", from.address(), "--con", "c", fmt::format("con-{}", i)});
  }
  support::run_tool({"put", "--server", from.address(), "--idp", "k", "--tube", "rated", "keyed"});
  support::run_tool({"set", "tube", "rated", "--rate", "5:1", "--server", from.address()});
  support::run_tool({"put", "--tries", "1", "--server", from.address(), "has one try"});
  const ToolRun dry = support::run_tool(arguments(from, to, {"--dry-run"}));
  EXPECT_EQ(dry.code, 0);
  EXPECT_THAT(dry.err, HasSubstr("does not know keys, tries, back-off and dead tubes, expiry, "
                                 "concurrency keys of jobs: those that have any stay, if you do "
                                 "not say --drop-options; 1 keys are taken, "));
  EXPECT_THAT(dry.err, HasSubstr("1 tubes lose their settings (rated)"));
  EXPECT_EQ(support::run_tool({"delete", "202", "--server", from.address()}).code, 0);
  const ToolRun moved = support::run_tool(arguments(from, to));
  EXPECT_EQ(moved.code, 1);
  EXPECT_THAT(moved.out, HasSubstr("options that the other server does not know (tries)"));
  EXPECT_THAT(moved.out, HasSubstr("options that the other server does not know (con)"));
  EXPECT_EQ(by_body(to).size(), 100U);
  EXPECT_EQ(by_body(from).size(), 102U);
  EXPECT_EQ(by_body(from).at("kept").second.state, "ready");
  // That it was looked at is no attempt.
  EXPECT_EQ(by_body(from).at("has one try").second.state, "ready");
  const ToolRun dropped = support::run_tool(arguments(from, to, {"--drop-options"}));
  EXPECT_EQ(dropped.code, 0) << dropped.err << dropped.out;
  EXPECT_EQ(by_body(to).size(), 202U);
}

TEST(ExportOfSchedules, SaysThatTheyStay) {
  ServerProcess from({.flags = {"-F"}});
  ServerProcess to({.flags = {"-F"}});
  ASSERT_TRUE(from.start().ok());
  ASSERT_TRUE(to.start().ok());
  EXPECT_EQ(support::run_tool(arguments(from, to, {"--dry-run"})).err, "");
  ASSERT_EQ(support::run_tool(
                {"schedule", "set", "a", "b", "--cron", "@yearly", "--server", from.address()})
                .code,
            0);
  EXPECT_THAT(support::run_tool(arguments(from, to, {"--dry-run"})).err,
              HasSubstr("1 schedules stay"));
}

TEST_P(Export, KeepsTheOrderOfReadyAndOfBuriedJobs) {
  constexpr int jobs = 300;  // Several windows.
  ServerConnection source = support::connect(from_.address());
  ask(source, Use{"t"});
  std::vector<JobId> to_bury;
  for (int i = 0; i < jobs; ++i) {
    put(source, fmt::format("ready {}", i), static_cast<uint32_t>(i % 3));
    to_bury.push_back(put(source, fmt::format("buried {}", i)));
  }
  for (auto id = to_bury.rbegin(); id != to_bury.rend(); ++id) bury(source, *id);
  EXPECT_EQ(support::run_tool(arguments(from_, to_)).code, 0);

  ServerConnection target = support::connect(to_.address());
  ask(target, Watch{"t"});
  ask(target, Use{"t"});
  const auto next = [&](const perennial::Command& command) {
    Result<wire::ClientReply> reply = target.ask(command);
    CHECK(reply.ok());
    ask(target, Delete{reply->number});
    return reply->text;
  };
  for (int priority = 0; priority < 3; ++priority)
    for (int i = priority; i < jobs; i += 3)
      ASSERT_EQ(next(ReserveWithTimeout{0}), fmt::format("ready {}", i));
  for (int i = jobs - 1; i >= 0; --i) ASSERT_EQ(next(PeekBuried{}), fmt::format("buried {}", i));
}

TEST_P(Export, MovesPausedTubesWithTheirPauses) {
  ServerConnection source = support::connect(from_.address());
  ask(source, Use{"still"});
  for (int i = 0; i < 200; ++i) put(source, fmt::format("job {}", i));
  ask(source, PauseTube{"still", 1000});
  const ToolRun run = support::run_tool(arguments(from_, to_));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(inventory(to_.address()).size(), 200U);
  ServerConnection target = support::connect(to_.address());
  ask(target, Watch{"still"});
  EXPECT_EQ(ask(target, ReserveWithTimeout{0}), "TIMED_OUT");
}

TEST_P(Export, LeavesReservedJobsAndOtherTubes) {
  ServerConnection source = support::connect(from_.address());
  for (const char* tube : {"a", "b", "c"}) {
    ask(source, Use{tube});
    put(source, fmt::format("first of {}", tube));
    put(source, fmt::format("second of {}", tube));
  }
  ServerConnection worker = support::connect(from_.address());
  ask(worker, Watch{"a"});
  ASSERT_EQ(ask(worker, Reserve{}), "RESERVED 1 10");
  const ToolRun dry = support::run_tool(arguments(from_, to_, {"--dry-run", "--json"}));
  EXPECT_EQ(dry.code, 0);
  EXPECT_EQ(nlohmann::json::parse(dry.out)["jobs"], 5);
  EXPECT_TRUE(inventory(to_.address()).empty());

  const ToolRun run = support::run_tool(arguments(from_, to_, {"--tube", "a", "--tube", "c"}));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.out, HasSubstr("reserved by a worker"));
  EXPECT_THAT(run.err, HasSubstr("1 jobs are left "));
  EXPECT_EQ(inventory(to_.address()).size(), 3U);
  EXPECT_EQ(support::bodies(from_.address()),
            (std::map<std::string, int>{{"first of a", 1}, {"first of b", 1}, {"second of b", 1}}));
  EXPECT_EQ(ask(worker, Delete{1}), "DELETED");
}

TEST_P(Export, LeavesJobsThatAreTooLargeForTheTarget) {
  // A third server, which accepts only small jobs.
  ServerProcess small({.program = GetParam().to, .flags = {"-z", "100"}});
  ASSERT_TRUE(small.start().ok());
  ServerConnection source = support::connect(from_.address());
  const auto large = [](char letter) { return std::string(101, letter); };
  put(source, large('r'));
  put(source, large('d'), 5, 5000);
  bury(source, put(source, large('b')), 6);
  for (int i = 0; i < 100; ++i) put(source, fmt::format("job {}", i));
  const ToolRun run = support::run_tool(arguments(from_, small, {"--json"}));
  EXPECT_EQ(run.code, 1);
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["jobs"], 100);
  EXPECT_EQ(json["left_total"], 3);
  EXPECT_THAT(json["left"].dump(), HasSubstr("JOB_TOO_BIG"));
  auto left = by_body(from_);
  ASSERT_EQ(left.size(), 3U);
  EXPECT_EQ(left.at(large('r')).second.state, "ready");
  EXPECT_EQ(left.at(large('d')).second.state, "delayed");
  EXPECT_GT(left.at(large('d')).second.time_left_s, 4900U);
  EXPECT_EQ(left.at(large('b')).second.state, "buried");
  EXPECT_EQ(left.at(large('b')).second.priority, 6U);
}

TEST_P(Export, EndsWhenTheOtherServerDrains) {
  ServerConnection source = support::connect(from_.address());
  for (int i = 0; i < 200; ++i) put(source, fmt::format("job {}", i));
  ASSERT_EQ(support::run_tool({"put", "--tube", "other", "x", "--server", from_.address()}).code,
            0);
  ASSERT_EQ(support::run_tool({"drain", "--yes", "--server", to_.address()}).code, 0);
  const ToolRun run = support::run_tool(arguments(from_, to_));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("DRAINING: the other server takes no more jobs"));
  EXPECT_THAT(run.out, HasSubstr("jobs left            201\n"));
  EXPECT_THAT(run.out, HasSubstr("137                not yet moved\n"));
  EXPECT_EQ(support::stat(from_.address(), "current-jobs-ready"), 201U);
}

// The other tubes go on.
TEST(ExportToADrainedTube, LeavesOnlyItsJobs) {
  ServerProcess from;
  ServerProcess to;
  ASSERT_TRUE(from.start().ok());
  ASSERT_TRUE(to.start().ok());
  ServerConnection source = support::connect(from.address());
  for (const std::string tube : {"a", "b", "c"}) {
    ask(source, Use{tube});
    for (int i = 0; i < 200; ++i) put(source, fmt::format("job {}", i));
  }
  ASSERT_EQ(
      support::run_tool({"set", "tube", "b", "--drain", "yes", "--server", to.address()}).code, 0);
  const ToolRun run = support::run_tool(
      {"export-beanstalkd", "--server", from.address(), "--to", to.address(), "--json"});
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("200 jobs are left here"));
  EXPECT_THAT(run.out,
              HasSubstr("DRAINING: the tube 'b' of the other server takes no jobs\": 200"));
  EXPECT_EQ(support::stat(from.address(), "current-jobs-ready"), 200U);
  EXPECT_EQ(support::stat(to.address(), "current-jobs-ready"), 400U);
}

TEST_P(Export, RefusesTheSameServer) {
  const ToolRun run = support::run_tool(arguments(from_, from_));
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.err, HasSubstr("are the same server"));
}

// Puts jobs of all states into three tubes. Their bodies are their numbers.
void fill(const ServerProcess& server, int jobs) {
  ServerConnection source = support::connect(server.address());
  for (int i = 0; i < jobs; ++i) {
    if (i % 100 == 0) ask(source, Use{fmt::format("tube-{}", i / 100 % 3)});
    const JobId id = put(source, fmt::to_string(i), 5, i % 4 == 0 ? 5000 : 0);
    if (i % 5 == 0) bury(source, id);
  }
}

// Waits until this many jobs have arrived or the tool has ended. There is no event for that, so it
// polls.
void wait_for_jobs(const ServerProcess& server, uint64_t total_jobs, pid_t tool) {
  while (support::stat(server.address(), "total-jobs") < total_jobs) {
    siginfo_t ended{};
    CHECK(::waitid(P_PID, static_cast<id_t>(tool), &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
    if (ended.si_pid == tool) return;
  }
}

TEST_P(Export, FinishesItsWindowWhenItIsStopped) {
  constexpr int jobs = 3000;
  fill(from_, jobs);
  ToolProcess tool(arguments(from_, to_, {"--json"}));
  wait_for_jobs(to_, 200, tool.pid());
  tool.signal(SIGTERM);
  const ToolRun run = tool.wait();
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.err, HasSubstr("run it again to go on"));
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_TRUE(json["stopped"].get<bool>());
  EXPECT_EQ(json["jobs"], inventory(to_.address()).size());
  const size_t left = inventory(from_.address()).size();
  EXPECT_GT(left, 0U);
  EXPECT_EQ(left + inventory(to_.address()).size(), size_t{jobs});
  EXPECT_EQ(support::stat(from_.address(), "current-jobs-reserved"), 0U);
  EXPECT_EQ(support::run_tool(arguments(from_, to_)).code, 0);
  EXPECT_EQ(inventory(to_.address()).size(), size_t{jobs});
}

TEST_P(Export, LosesNothingWhenItIsKilledAtAnyMoment) {
  constexpr int jobs = 2000;
  constexpr size_t window = 64;
  fill(from_, jobs);
  std::mt19937_64 random(support::seed());
  size_t kills = 0;
  for (int code = -SIGKILL; code == -SIGKILL;) {
    ToolProcess tool(arguments(from_, to_));
    wait_for_jobs(to_, support::stat(to_.address(), "total-jobs") + random() % 500, tool.pid());
    tool.signal(SIGKILL);
    const ToolRun run = tool.wait();
    code = run.code;
    ASSERT_TRUE(code == 0 || code == -SIGKILL) << run.err;
    if (code == -SIGKILL) ++kills;
    // The jobs that the tool had reserved are released when the server notices its end.
    while (support::stat(from_.address(), "current-jobs-reserved") > 0) continue;
    std::map<std::string, int> here = support::bodies(from_.address());
    const std::map<std::string, int> there = support::bodies(to_.address());
    size_t copies = 0;
    for (const auto& [body, count] : there) {
      here[body] += count;
      copies += static_cast<size_t>(count);
    }
    ASSERT_EQ(here.size(), size_t{jobs}) << "after " << kills << " kills, seed " << support::seed();
    ASSERT_LE(copies, there.size() + kills * window) << "seed " << support::seed();
  }
  EXPECT_GT(kills, 0U);
  EXPECT_TRUE(inventory(from_.address()).empty());
}

}  // namespace
}  // namespace perennial::tool
