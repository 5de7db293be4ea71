// perennial work as a person runs it: against perenniald, and against beanstalkd.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "tests/cmd/perennial/tool_process.h"
#include "tests/support/server_process.h"

namespace perennial::tool {
namespace {

using support::Program;
using support::ServerProcess;
using support::ToolProcess;
using support::ToolRun;
using testing::HasSubstr;
using testing::Not;

std::string content(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// Several runners share one connection where the server can reserve batches.
struct WorkCase {
  const char* name;
  Program program;
  uint32_t runners = 1;
};
void PrintTo(const WorkCase& work, std::ostream* out) {
  *out << work.name;
}
constexpr WorkCase work_cases[] = {{"Perenniald", Program::Perenniald},
                                   {"PerennialdShared", Program::Perenniald, 3},
                                   {"Beanstalkd", Program::Beanstalkd}};
std::string work_name(const testing::TestParamInfo<WorkCase>& param) {
  return param.param.name;
}

class Work : public testing::TestWithParam<WorkCase> {
 protected:
  void SetUp() override {
    const Status started = server_.start();
    ASSERT_TRUE(started.ok()) << started.message();
    client_ = server_.connect();
    ASSERT_EQ(*client_.ask("use mail\r\n"), "USING mail\r\n");
  }

  std::vector<std::string> arguments(std::vector<std::string> flags,
                                     const std::vector<std::string>& command) {
    if (std::ranges::find(flags, "--jobs") == flags.end())
      flags.insert(flags.end(), {"--jobs", fmt::format("{}", GetParam().runners)});
    flags.insert(flags.begin(), {"work", "--server", server_.address(), "--tube", "mail"});
    flags.emplace_back("--");
    flags.insert(flags.end(), command.begin(), command.end());
    return flags;
  }
  ToolRun run(const std::vector<std::string>& flags, const std::vector<std::string>& command) {
    return support::run_tool(arguments(flags, command));
  }
  // A shell script in place of a command; $1 is the id, and "$dir" is a directory of this test.
  std::vector<std::string> script(const std::string& text) {
    return {"sh", "-c", fmt::format("dir='{}'\n{}", server_.dir(), text), "script", "{}"};
  }

  // The tube is "mail". Returns the id.
  std::string put(const std::string& body, uint32_t ttr_s = 60) {
    const auto reply =
        client_.ask(fmt::format("put 7 0 {} {}\r\n{}\r\n", ttr_s, body.size(), body));
    EXPECT_TRUE(reply.ok());
    EXPECT_EQ(reply->substr(0, 9), "INSERTED ");
    return reply->substr(9, reply->size() - 11);
  }
  std::string stats(const std::string& id) {
    return *client_.ask(fmt::format("stats-job {}\r\n", id));
  }
  std::string file(const std::string& name) { return content(server_.dir() + "/" + name); }
  // Waits until the process has ended. One that its new parent has not reaped yet has ended, too.
  void await_end(std::string pid) {
    pid.pop_back();
    const auto runs = [&] {
      const std::string stat = content("/proc/" + pid + "/stat");
      return !stat.empty() && stat.find(") Z ") == std::string::npos;
    };
    for (int left = 3000; left > 0 && runs(); --left)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_FALSE(runs()) << pid;
  }
  // Waits until a command has written the file, whose name it moves into place.
  void await_file(const std::string& name) {
    const std::string path = server_.dir() + "/" + name;
    for (int left = 3000; left > 0 && !std::filesystem::exists(path); --left)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    ASSERT_TRUE(std::filesystem::exists(path)) << name;
  }

  uint64_t count(const std::string& document, const std::string& key) {
    const size_t at = document.find(key + ": ");
    EXPECT_NE(at, std::string::npos) << key;
    return at == std::string::npos ? 0 : std::stoull(document.substr(at + key.size() + 2));
  }

  ServerProcess server_{{.program = GetParam().program}};
  support::ClientSocket client_;
};

INSTANTIATE_TEST_SUITE_P(Tool, Work, testing::ValuesIn(work_cases), work_name);

TEST_P(Work, SuccessDeletes) {
  const std::string id = put("hello");
  const ToolRun done = run({"--once"}, script("cat >\"$dir/body\"; echo \"$1\""));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, id + "\n");
  EXPECT_EQ(file("body"), "hello");
  EXPECT_THAT(done.err, HasSubstr("job=" + id + " tube=mail outcome=deleted status=0 seconds="));
  EXPECT_EQ(stats(id), "NOT_FOUND\r\n");
}

TEST_P(Work, ALargeBinaryBodyArrivesWhole) {
  std::string body;
  for (int i = 0; i < 60'000; ++i) body += static_cast<char>(i * 7 % 256);
  put(body);
  EXPECT_EQ(run({"--once"}, script("cat >\"$dir/body\"")).code, 0);
  EXPECT_EQ(file("body"), body);
}

TEST_P(Work, ACommandMayIgnoreItsInput) {
  const std::string id = put(std::string(60'000, 'x'));
  const ToolRun done = run({"--once"}, {"true"});
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, HasSubstr("outcome=deleted"));
  EXPECT_EQ(stats(id), "NOT_FOUND\r\n");
}

TEST_P(Work, TheEnvironmentDescribesTheJob) {
  const std::string id = put("x", 77);
  const ToolRun done =
      run({"--once", "--tube", "default", "--log", "json"}, {"sh", "-c", "env | grep PERENNIAL_"});
  EXPECT_EQ(done.code, 0) << done.err;
  for (const std::string& line :
       {"PERENNIAL_JOB_ID=" + id, std::string("PERENNIAL_TUBE=mail"),
        std::string("PERENNIAL_ATTEMPT=1"), std::string("PERENNIAL_TTR=77"),
        std::string("PERENNIAL_SCHEDULE="), std::string("PERENNIAL_PLANNED=")})
    EXPECT_THAT(done.out, HasSubstr(line + "\n"));
  const auto json = nlohmann::json::parse(done.err);
  EXPECT_EQ(json["outcome"], "deleted");
  EXPECT_EQ(json["tube"], "mail");
}

TEST_P(Work, FailureReleasesWithDelayAndPriority) {
  const std::string id = put("x");
  const ToolRun done = run({"--once", "--backoff", "1000"}, {"sh", "-c", "exit 3"});
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, HasSubstr("outcome=released status=3 "));
  EXPECT_THAT(done.err, HasSubstr(" delay=1000"));
  EXPECT_THAT(stats(id), HasSubstr("state: delayed\npri: 7\n"));
}

TEST_P(Work, TheDelayGrowsAndTheLastTryBuries) {
  const std::string id = put("x");
  const ToolRun done = run({"--max", "2", "--backoff", "1", "--tries", "2"}, {"false"});
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, HasSubstr(" delay=1"));
  EXPECT_THAT(done.err, HasSubstr("outcome=buried"));
  EXPECT_THAT(stats(id), HasSubstr("state: buried\npri: 7\n"));
}

TEST_P(Work, ANamedStatusBuries) {
  const std::string id = put("x");
  const ToolRun done = run({"--once", "--bury-on", "64,65"}, {"sh", "-c", "exit 65"});
  EXPECT_THAT(done.err, HasSubstr("outcome=buried status=65"));
  EXPECT_THAT(stats(id), HasSubstr("state: buried\n"));
}

// As a shell has it: 127 without a file, 126 for one that may not be executed.
TEST_P(Work, ACommandThatCannotBeStartedEndsTheWorkerBeforeItReserves) {
  const std::string id = put("x");
  const std::string plain = server_.dir() + "/plain";
  std::ofstream(plain) << "text";
  struct Case {
    std::string command;
    int code;
    std::string message;
  };
  for (const Case& c : {Case{"./send-mial", 127, "start ./send-mial: No such file or directory"},
                        Case{"send-mial", 127, "start send-mial: No such file or directory"},
                        Case{"/dev/null/x", 127, "start /dev/null/x: Not a directory"},
                        Case{plain, 126, "start " + plain + ": Permission denied"},
                        Case{"/tmp", 126, "start /tmp: Is a directory"}}) {
    for (const std::string how : {"--drain", "--dry-run"}) {
      const ToolRun done = run({how, "--tries", "1"}, {c.command});
      EXPECT_EQ(done.code, c.code) << c.command;
      EXPECT_EQ(done.err, "perennial work: " + c.message + "\n");
      EXPECT_EQ(done.out, "");
    }
  }
  EXPECT_THAT(stats(id), HasSubstr("state: ready\n"));
  EXPECT_THAT(stats(id), HasSubstr("reserves: 0\n"));
}

// Here the file alone does not show it.
TEST_P(Work, ACommandWithoutItsInterpreterGivesItsJobBackAndEndsTheWorker) {
  const std::string first = put("x");
  const std::string second = put("y");
  const std::string path = server_.dir() + "/command";
  std::ofstream(path) << "#!/no/such/interpreter\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const ToolRun done = run({"--drain", "--tries", "1"}, {path});
  EXPECT_EQ(done.code, 127);
  EXPECT_THAT(done.err, HasSubstr("outcome=released"));
  EXPECT_THAT(done.err, HasSubstr("why=not-started error=\"start " + path + ": No such file"));
  for (const std::string& id : {first, second})
    EXPECT_THAT(stats(id), HasSubstr("state: ready\n")) << id;
}

TEST_P(Work, ACommandThatGoesEndsTheWorkerBeforeTheNextJob) {
  put("x");
  const std::string second = put("y");
  const std::string path = server_.dir() + "/command";
  std::ofstream(path) << "#!/bin/sh\nrm \"$0\"\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  const ToolRun done = run({"--drain", "--tries", "1", "--jobs", "1"}, {path});
  EXPECT_EQ(done.code, 127);
  EXPECT_THAT(done.err, HasSubstr("outcome=deleted"));
  EXPECT_THAT(done.err, HasSubstr("at=work.no_command"));
  EXPECT_THAT(stats(second), HasSubstr("state: ready\n"));
}

// The job names it, so the next job may have one.
TEST_P(Work, AMissingCommandOfOneJobReleases) {
  const std::string id = put("x");
  const ToolRun done = run({"--once"}, {"/no/such/command-{}"});
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, HasSubstr("outcome=released"));
  EXPECT_THAT(done.err, HasSubstr("why=not-started error=\"start /no/such/command-"));
  EXPECT_THAT(stats(id), HasSubstr("state: delayed\n"));
}

TEST_P(Work, AKilledWorkerTakesItsCommandWithIt) {
  put("x");
  ToolProcess worker(arguments({}, script("echo $$ >\"$dir/new\"; mv \"$dir/new\" \"$dir/pid\"\n"
                                          "while :; do sleep 0.1; done")));
  await_file("pid");
  worker.signal(SIGKILL);
  EXPECT_EQ(worker.wait().code, -SIGKILL);
  await_end(file("pid"));
}

TEST_P(Work, ALongJobIsTouched) {
  const std::string id = put("x", 2);
  const ToolRun done = run({"--once"}, {"sleep", "5"});
  EXPECT_THAT(done.err, HasSubstr("outcome=deleted status=0"));
  EXPECT_EQ(stats(id), "NOT_FOUND\r\n");
}

TEST_P(Work, ALostReservationKillsTheCommandAndItsChildren) {
  const std::string id = put("x", 1);
  // Without touches the ttr passes. The grandchild is in the group of the command.
  const ToolRun done = run({"--once", "--touch", "100"},
                           script("trap 'exit 0' TERM; (sleep 1000; echo x >\"$dir/late\") & "
                                  "echo $! >\"$dir/pid\"; wait"));
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, HasSubstr("outcome=lost"));
  await_end(file("pid"));
  EXPECT_THAT(stats(id), Not(HasSubstr("state: delayed")));
}

// beanstalkd does not always enforce the ttr of a connection that fell silent: in one of its runs
// the job stays with the stopped worker for as long as that lives, and no other client is given it.
// What the worker does then is not seen.
TEST_P(Work, AWorkerThatStoodStillPastTheTtrKillsTheCommand) {
  if (GetParam().program == Program::Beanstalkd) GTEST_SKIP() << "it may never take the job back";
  const std::string id = put("x", 1);
  ToolProcess worker(
      arguments({"--once", "--touch", "100"}, script(": >\"$dir/runs\"; exec sleep 1000")));
  await_file("runs");
  worker.signal(SIGSTOP);  // Until the server has given the job to this client.
  EXPECT_EQ(*client_.ask("watch mail\r\n"), "WATCHING 2\r\n");
  EXPECT_EQ(*client_.ask("reserve-with-timeout 30\r\n"), fmt::format("RESERVED {} 1\r\nx\r\n", id));
  worker.signal(SIGCONT);
  const ToolRun done = worker.wait();
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, HasSubstr("outcome=lost signal=15"));
  EXPECT_EQ(*client_.ask(fmt::format("delete {}\r\n", id)), "DELETED\r\n");
}

// In beanstalkd nobody can take a reserved job away before its ttr is over.
TEST_P(Work, ATouchThatIsAnsweredNotFoundKillsTheCommand) {
  if (GetParam().program == Program::Beanstalkd) GTEST_SKIP() << "it has no flush-tube";
  put("x");
  ToolProcess worker(
      arguments({"--once", "--touch", "1"}, script(": >\"$dir/runs\"; exec sleep 1000")));
  await_file("runs");
  EXPECT_EQ(*client_.ask("flush-tube mail\r\n"), "FLUSHED 1\r\n");
  const ToolRun done = worker.wait();
  EXPECT_EQ(done.code, 0);
  EXPECT_THAT(done.err, HasSubstr("outcome=lost signal=15"));
  EXPECT_THAT(done.err, HasSubstr("the job is not reserved by this worker"));
}

TEST_P(Work, ATimeoutKillsAndReleases) {
  const std::string id = put("x");
  const ToolRun done = run({"--once", "--timeout", "1"}, {"sleep", "1000"});
  EXPECT_THAT(done.err, HasSubstr("outcome=released signal=15"));
  EXPECT_THAT(done.err, HasSubstr("delay=10 why=timeout"));
  EXPECT_THAT(stats(id), HasSubstr("state: delayed\n"));
}

TEST_P(Work, AStopLetsACommandFinish) {
  const std::string first = put("1");
  const std::string second = put("2");
  ToolProcess worker(
      arguments({"--jobs", "1"},
                script(": >\"$dir/runs\"; while [ ! -e \"$dir/go\" ]; do sleep 0.05; done")));
  await_file("runs");
  worker.signal(SIGTERM);
  std::ofstream(server_.dir() + "/go") << "go";
  const ToolRun done = worker.wait();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("job=" + first + " tube=mail outcome=deleted"));
  EXPECT_EQ(stats(first), "NOT_FOUND\r\n");
  EXPECT_THAT(stats(second), HasSubstr("state: ready\n"));
}

TEST_P(Work, AStopWithoutGraceGivesTheJobBack) {
  const std::string id = put("x");
  ToolProcess worker(arguments({"--grace", "0"}, script(": >\"$dir/runs\"; exec sleep 1000")));
  await_file("runs");
  worker.signal(SIGINT);
  const ToolRun done = worker.wait();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("delay=0 why=stopped"));
  EXPECT_THAT(stats(id), HasSubstr("state: ready\n"));
}

// The server would delay the job, and after two stops it would be dead.
TEST_P(Work, AStopIsNoAttemptWhereTheServerCountsThem) {
  if (GetParam().program == Program::Beanstalkd) GTEST_SKIP() << "it counts no attempts";
  EXPECT_EQ(*client_.ask("set-tube mail tries:2 backoff:1000\r\n"), "SET\r\n");
  const std::string id = put("x");
  ToolProcess worker(arguments({"--grace", "0"}, script(": >\"$dir/runs\"; exec sleep 1000")));
  await_file("runs");
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().code, 0);
  EXPECT_THAT(stats(id), HasSubstr("state: ready\n"));
  EXPECT_THAT(stats(id), HasSubstr("\nattempts: 0\n"));
}

TEST_P(Work, TheLastTryThatTheServerAllowsBuries) {
  if (GetParam().program == Program::Beanstalkd) GTEST_SKIP() << "it counts no attempts";
  EXPECT_EQ(*client_.ask("set-tube mail tries:1\r\n"), "SET\r\n");
  const std::string id = put("x");
  const ToolRun done = run({"--once"}, {"false"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("outcome=buried status=1"));
  EXPECT_THAT(done.err, HasSubstr("the job has used up its tries"));
  EXPECT_THAT(stats(id), HasSubstr("state: buried\n"));
}

TEST_P(Work, ASecondSignalDoesNotWaitForTheGrace) {
  const std::string id = put("x");
  ToolProcess worker(arguments({"--grace", "1000"}, script(": >\"$dir/runs\"; exec sleep 1000")));
  await_file("runs");
  worker.signal(SIGTERM);
  worker.signal(SIGINT);
  const ToolRun done = worker.wait();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("outcome=released"));
  EXPECT_THAT(stats(id), HasSubstr("state: ready\n"));
}

TEST_P(Work, AStopEndsAWorkerThatWaits) {
  ToolProcess worker(arguments({"--jobs", "3"}, {"false"}));
  const bool shares = GetParam().program == Program::Perenniald;
  const std::string waiting = fmt::format("current-waiting: {}\n", shares ? 1 : 3);
  while (client_.ask("stats-tube mail\r\n")->find(waiting) == std::string::npos)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().code, 0);
}

TEST_P(Work, DrainEndsWhenNoJobIsReady) {
  for (int i = 0; i < 20; ++i) put(fmt::format("{}", i));
  const ToolRun done = run({"--drain", "--jobs", "4"}, script(": >\"$dir/done-$1\""));
  EXPECT_EQ(done.code, 0) << done.err;
  for (int id = 1; id <= 20; ++id)
    EXPECT_TRUE(std::filesystem::exists(fmt::format("{}/done-{}", server_.dir(), id))) << id;
  EXPECT_THAT(*client_.ask("stats-tube mail\r\n"), HasSubstr("cmd-delete: 20\n"));
}

TEST_P(Work, MaxCountsTheJobsOfAllRunners) {
  for (int i = 0; i < 5; ++i) put("x");
  EXPECT_EQ(run({"--max", "3", "--jobs", "2"}, {"true"}).code, 0);
  EXPECT_THAT(*client_.ask("stats-tube mail\r\n"), HasSubstr("current-jobs-ready: 2\n"));
}

TEST_P(Work, SeveralRunnersReserveInBatches) {
  for (int i = 0; i < 6; ++i) put("x");
  const uint64_t connections = count(*client_.ask("stats\r\n"), "total-connections");
  EXPECT_EQ(run({"--drain", "--jobs", "3"}, {"sleep", "0.2"}).code, 0);
  const std::string stats = *client_.ask("stats\r\n");
  EXPECT_EQ(count(stats, "cmd-delete"), 6U);
  const bool shares = GetParam().program == Program::Perenniald;
  EXPECT_EQ(count(stats, "cmd-reserve-with-timeout") == 0, shares);
  if (!shares) return;
  EXPECT_GT(count(stats, "cmd-reserve-batch"), 0U);
  EXPECT_EQ(count(stats, "total-connections"), connections + 1);
}

TEST_P(Work, SeveralRunnersHoldNoMoreJobsThanTheyWorkOn) {
  constexpr uint64_t jobs = 9;
  for (uint64_t i = 0; i < jobs; ++i) put("x");
  // Longer than the start of a command takes on a busy machine, so that two run at once.
  ToolProcess worker(arguments({"--drain", "--jobs", "3"}, {"sleep", "0.5"}));
  uint64_t most = 0;
  for (uint64_t deleted = 0; deleted < jobs;) {
    const std::string tube = *client_.ask("stats-tube mail\r\n");
    most = std::max(most, count(tube, "current-jobs-reserved"));
    deleted = count(tube, "cmd-delete");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(worker.wait().code, 0);
  EXPECT_GE(most, 2U);
  EXPECT_LE(most, 3U);
}

// A job of one second lets each reserve that would wait be answered DEADLINE_SOON.
TEST_P(Work, SeveralRunnersTouchShortJobsWhileOthersWait) {
  const std::string first = put("1", 1);
  ToolProcess worker(arguments({"--max", "3", "--jobs", "3"},
                               script(": >\"$dir/runs-$1\"; sleep 2.5; echo \"$1\"")));
  await_file("runs-" + first);
  const std::string second = put("2", 1);
  const std::string third = put("3");
  const ToolRun done = worker.wait();
  EXPECT_EQ(done.code, 0) << done.err;
  for (const std::string& id : {first, second, third})
    EXPECT_THAT(done.err, HasSubstr("job=" + id + " tube=mail outcome=deleted"));
  EXPECT_THAT(*client_.ask("stats\r\n"), HasSubstr("\njob-timeouts: 0\n"));
}

TEST_P(Work, ADryRunReservesNothing) {
  const std::string id = put("body");
  put("another");
  const ToolRun done = run({"--tube", "none", "--dry-run"}, {"/bin/echo", "{}", "two words"});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(done.out, fmt::format("mail: 2 ready; next is job {} with 4 bytes: /bin/echo {} "
                                  "\"two words\"\nnone: no ready job\n",
                                  id, id));
  EXPECT_THAT(stats(id), HasSubstr("state: ready\n"));
  EXPECT_THAT(stats(id), HasSubstr("reserves: 0\n"));
}

}  // namespace

// A fixed address is needed, and both servers take a unix socket again.
class WorkRestart : public testing::TestWithParam<WorkCase> {};

INSTANTIATE_TEST_SUITE_P(Tool, WorkRestart, testing::ValuesIn(work_cases), work_name);

TEST_P(WorkRestart, ALostServerKillsTheCommandAndTheJobRunsAgainLater) {
  ServerProcess server({.program = GetParam().program, .unix_socket = true});
  ASSERT_TRUE(server.start().ok());
  support::ClientSocket client = server.connect();
  ASSERT_EQ(*client.ask("put 0 0 60 1\r\nx\r\n"), "INSERTED 1\r\n");
  const std::string runs = server.dir() + "/runs";
  ToolProcess worker(
      {"work", "--server", server.address(), "--tube", "default", "--max", "2", "--jobs",
       fmt::format("{}", GetParam().runners), "--", "sh", "-c",
       fmt::format("if [ -e '{0}' ]; then exit 0; fi; : >'{0}'; exec sleep 1000", runs)});
  while (!std::filesystem::exists(runs)) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(server.terminate().ok());
  ASSERT_TRUE(server.start().ok());
  const ToolRun done = worker.wait();
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.err, HasSubstr("outcome=lost signal=15"));
  EXPECT_THAT(done.err, HasSubstr("outcome=deleted status=0"));
}

TEST(WorkRetry, EndsWithAnErrorWhenTheServerStaysAway) {
  const ToolRun done = support::run_tool({"work", "--server", "unix:/nonexistent/socket", "--tube",
                                          "mail", "--retry", "0", "--", "true"});
  EXPECT_EQ(done.code, 1);
  EXPECT_THAT(done.err, HasSubstr("at=work.server_away"));
  EXPECT_THAT(done.err, HasSubstr("perennial work: unix:/nonexistent/socket"));
}

// Nothing changes while it waits, so a worker that the server refuses ends at once.
TEST(WorkUsers, ThatMayNotConsumeEndTheWorker) {
  ServerProcess server({.unix_socket = true});
  const std::string config = server.dir() + "/perennial.yaml";
  std::ofstream(config) << fmt::format(
      "users:\n- name: me\n  uids: [{}]\n  grants: [{{tubes: [mail], verbs: [produce]}}]\n",
      ::getuid());
  server.setup().flags = {"--config", config};
  const Status started = server.start();
  ASSERT_TRUE(started.ok()) << started.message();
  for (const char* const runners : {"1", "3"}) {
    const ToolRun done = support::run_tool(
        {"work", "--server", server.address(), "--tube", "mail", "--jobs", runners, "--", "true"});
    EXPECT_EQ(done.code, 2);
    EXPECT_THAT(done.err, HasSubstr("watch: FORBIDDEN: the user has no right to this"));
  }
}

TEST(WorkUsage, IsCheckedFirst) {
  struct Case {
    std::vector<std::string> arguments;
    const char* message;
  };
  for (const Case& c :
       {Case{{"work", "--tube", "mail"}, "COMMAND"}, Case{{"work", "--", "true"}, "--tube"},
        Case{{"work", "--tube", "-", "--", "true"}, "is no name of a tube"},
        Case{{"work", "--tube", "a", "--jobs", "0", "--", "true"}, "--jobs"},
        Case{{"work", "--tube", "a", "--log", "xml", "--", "true"}, "--log"}}) {
    const ToolRun done = support::run_tool(c.arguments);
    EXPECT_EQ(done.code, 2) << c.message;
    EXPECT_THAT(done.err, HasSubstr(c.message));
  }
}

}  // namespace perennial::tool
