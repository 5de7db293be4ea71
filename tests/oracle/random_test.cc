#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "tests/oracle/differential.h"
#include "tests/oracle/generator.h"
#include "tests/oracle/options.h"
#include "tests/oracle/server.h"
#include "tests/support/seed.h"

// Sends random commands to both servers and compares each reply. main.cc says how to run the test,
// and generator.h what is left out.
namespace perennial::oracle {
namespace {

struct Pair {
  std::unique_ptr<Server> theirs;
  std::unique_ptr<Server> ours;
};

// Starts both servers. Returns none, and fails the test, if one did not start.
Pair start_both(Beyond beyond) {
  Result<std::unique_ptr<Server>> theirs =
      start_server(support::Program::Beanstalkd, Generator::job_bytes_max);
  Result<std::unique_ptr<Server>> ours =
      start_server(support::Program::Perenniald, Generator::job_bytes_max, beyond);
  if (!theirs.ok()) ADD_FAILURE() << theirs.status().message();
  if (!ours.ok()) ADD_FAILURE() << ours.status().message();
  if (!theirs.ok() || !ours.ok()) return {};
  return {theirs.take(), ours.take()};
}

// The number of replies, by their first word.
using Tally = std::map<std::string, uint64_t>;

void count(const std::vector<std::string>& replies, Tally& tally) {
  for (const std::string& reply : replies) ++tally[reply.substr(0, reply.find_first_of(" \r"))];
}

// A comparison proves nothing about a reply that never came, so each kind of reply must have come.
void expect_all_replies(const Tally& tally) {
  for (const char* word : {"INSERTED",    "RESERVED",    "FOUND",           "OK",
                           "USING",       "WATCHING",    "KICKED",          "DELETED",
                           "RELEASED",    "BURIED",      "TOUCHED",         "PAUSED",
                           "NOT_FOUND",   "NOT_IGNORED", "TIMED_OUT",       "EXPECTED_CRLF",
                           "JOB_TOO_BIG", "BAD_FORMAT",  "UNKNOWN_COMMAND", "<waits>",
                           "<closed>"}) {
    EXPECT_TRUE(tally.contains(word)) << word << " never came";
  }
}

void compare_random_commands(Beyond beyond) {
  const Pair servers = start_both(beyond);
  ASSERT_TRUE(servers.ours);
  Differential differential(port_of(*servers.theirs), port_of(*servers.ours), Generator::conns);
  Generator generator(support::seed());
  Tally tally;
  while (generator.commands() < commands()) {
    const Step step = generator.next(differential.waiting());
    const auto replies = differential.run(step);
    ASSERT_TRUE(replies) << "seed " << support::seed() << ", command " << generator.commands()
                         << "\n"
                         << differential.report() << "log of perenniald:\n"
                         << servers.ours->stderr_text();
    generator.learn(step, *replies);
    count(*replies, tally);
  }
  for (const auto& [word, times] : tally) {
    std::printf("%s %llu\n", word.c_str(), static_cast<unsigned long long>(times));
  }
  if (commands() >= commands_default) expect_all_replies(tally);
}

TEST(Oracle, RandomCommandsAreAnsweredAlike) {
  compare_random_commands(Beyond::Nothing);
}

// No line of beanstalkd's protocol has another reply because of what there is beyond it.
TEST(Oracle, RandomCommandsAreAnsweredAlikeWithExtensions) {
  compare_random_commands(Beyond::Everything);
}

Step exchange(std::string bytes, size_t replies) {
  return {.kind = Step::Kind::Exchange, .conn = 0, .bytes = std::move(bytes), .replies = replies};
}

void await_draining(uint16_t port) {
  Peer peer(port);
  for (int i = 0; i < 1000; ++i) {
    peer.send("stats\r\n");
    if (peer.reply().find("\ndraining: true\n") != std::string::npos) return;
  }
  FAIL() << "SIGUSR1 does not drain";
}

TEST(Oracle, LinesOfExtensionsAreAnsweredAlikeWithoutThem) {
  const Pair servers = start_both(Beyond::Nothing);
  ASSERT_TRUE(servers.ours);
  Differential differential(port_of(*servers.theirs), port_of(*servers.ours), 1);
  const Step steps[] = {
      exchange("put 0 0 1000 1\r\na\r\nreserve\r\n", 2),
      exchange("extensions\r\nextensions x\r\npeek-reserved\r\npeek-reserved 1\r\n", 4),
      exchange("reserve-with-timeout 0 x:y\r\ndelete 9 x:y\r\nkick 1 x:y\r\n", 3),
      exchange("put 0 0 1000 8 x:y\r\ndelete 9\r\n", 2),
      exchange("put 0 0 1000 8 tube:t\r\ndelete 9\r\nput 0 0 1000 8 idp:k\r\ndelete 9\r\n", 4),
      exchange("put 0 0 60ms 8\r\ndelete 9\r\nput 0 1ms 60 8\r\ndelete 9\r\n", 4),
      exchange("put-batch 1 3\r\nreserve-batch 3\r\nreserve-batch x\r\n", 3),
      exchange("delete-batch 1\r\ntouch-batch 1\r\nflush-tube default\r\n", 3),
      exchange("list-jobs default\r\nlist-jobs *\r\nset-job 1 pri:5\r\nset-tube t tries:1\r\n", 4),
      exchange("move-tube default t\r\ndrain\r\nundrain\r\n", 3),
      exchange("touch 1 ttr:5\r\nrelease 1 = 0\r\nbury 1 =\r\nrelease 1 0 0 count:no\r\n", 4),
      exchange("reserve with:tube\r\nreserve abort:yes\r\npeek 1 with:tube\r\n", 3),
      exchange("pause-tube default 1ms\r\nstats-job 1\r\nstats-tube default\r\n", 3),
  };
  for (const Step& step : steps) ASSERT_TRUE(differential.run(step)) << differential.report();
}

TEST(Oracle, DrainingIsAnsweredAlike) {
  const Pair servers = start_both(Beyond::Nothing);
  ASSERT_TRUE(servers.ours);
  Differential differential(port_of(*servers.theirs), port_of(*servers.ours), 1);
  ASSERT_TRUE(differential.run(exchange("put 0 0 1000 1\r\na\r\n", 1))) << differential.report();
  for (Server* server : {servers.theirs.get(), servers.ours.get()}) {
    server->signal(SIGUSR1);
    await_draining(port_of(*server));
  }
  const Step steps[] = {
      exchange("put 0 0 1000 1\r\nb\r\n", 1),
      exchange("put 0 0 1000 1\r\nbxx", 1),
      exchange("put 0 0 1000 1001\r\n" + std::string(1001, 'x') + "\r\n", 1),
      exchange("put 0 0 1000 1 x\r\n", 1),
      exchange("reserve\r\nrelease 1 5 0\r\nreserve\r\nbury 1 6\r\nkick 1\r\nstats-job 1\r\n", 6),
      exchange("stats\r\nstats-tube default\r\ndelete 1\r\nstats\r\n", 4),
  };
  for (const Step& step : steps) ASSERT_TRUE(differential.run(step)) << differential.report();
}

}  // namespace
}  // namespace perennial::oracle
