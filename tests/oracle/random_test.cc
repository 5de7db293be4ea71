#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "tests/oracle/duel.h"
#include "tests/oracle/generator.h"
#include "tests/oracle/options.h"
#include "tests/oracle/server.h"
#include "tests/support/seed.h"

// Random commands on both servers at once, each reply compared. See main.cc for how to run it, and
// generator.h for what is left out.
namespace perennial::oracle {
namespace {

struct Pair {
  std::unique_ptr<Server> theirs;
  std::unique_ptr<Server> ours;
};

// Both servers; none if one did not start, which has then failed the test.
Pair start_both() {
  Result<std::unique_ptr<Server>> theirs =
      start_server(support::Program::Beanstalkd, Generator::job_bytes_max);
  Result<std::unique_ptr<Server>> ours =
      start_server(support::Program::Perenniald, Generator::job_bytes_max);
  if (!theirs.ok()) ADD_FAILURE() << theirs.status().message();
  if (!ours.ok()) ADD_FAILURE() << ours.status().message();
  if (!theirs.ok() || !ours.ok()) return {};
  return {theirs.take(), ours.take()};
}

// How often each reply came, by its first word.
using Tally = std::map<std::string, uint64_t>;

void count(const std::vector<std::string>& replies, Tally& tally) {
  for (const std::string& reply : replies) ++tally[reply.substr(0, reply.find_first_of(" \r"))];
}

// A comparison proves nothing about what never came up.
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

TEST(Oracle, RandomCommandsAreAnsweredAlike) {
  const Pair servers = start_both();
  ASSERT_TRUE(servers.ours);
  Duel duel(port_of(*servers.theirs), port_of(*servers.ours), Generator::conns);
  Generator generator(support::seed());
  Tally tally;
  while (generator.commands() < commands()) {
    const Step step = generator.next(duel.waiting());
    const auto replies = duel.run(step);
    ASSERT_TRUE(replies) << "seed " << support::seed() << ", command " << generator.commands()
                         << "\n"
                         << duel.report() << "log of perenniald:\n"
                         << servers.ours->stderr_text();
    generator.learn(step, *replies);
    count(*replies, tally);
  }
  for (const auto& [word, times] : tally) {
    std::printf("%s %llu\n", word.c_str(), static_cast<unsigned long long>(times));
  }
  if (commands() >= commands_default) expect_all_replies(tally);
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

TEST(Oracle, DrainingIsAnsweredAlike) {
  const Pair servers = start_both();
  ASSERT_TRUE(servers.ours);
  Duel duel(port_of(*servers.theirs), port_of(*servers.ours), 1);
  ASSERT_TRUE(duel.run(exchange("put 0 0 1000 1\r\na\r\n", 1))) << duel.report();
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
  for (const Step& step : steps) ASSERT_TRUE(duel.run(step)) << duel.report();
}

}  // namespace
}  // namespace perennial::oracle
