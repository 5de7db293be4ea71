// As many small jobs as a hundred clients can send without waiting for answers.

#include <charconv>
#include <csignal>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/overload/overloaded.h"

namespace perennial::overload {
namespace {

using Flood = Overloaded;

constexpr size_t clients = 100;

TEST_F(Flood, OfTinyPutsIsTakenWholeAndEachHasAnIdOfItsOwn) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(begin());
  Status status = crowd_.connect(server_.address(), clients);
  ASSERT_TRUE(status.ok()) << status.message();
  std::string puts;
  for (uint64_t i = 0; i < sizes().puts; ++i) puts += put_of(1);
  for (size_t i = 0; i < clients; ++i) crowd_.say(i, puts, sizes().puts);
  std::vector<bool> given;
  status = crowd_.finish([&given](size_t /*client*/, std::string_view reply) -> std::string {
    uint64_t id = 0;
    if (!reply.starts_with("INSERTED ")) return std::string(reply);
    std::from_chars(reply.data() + 9, reply.data() + reply.size(), id);
    if (given.size() <= id) given.resize(2 * id + 1);
    if (given[id]) return fmt::format("{} was given twice", id);
    given[id] = true;
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.message();
  const uint64_t rounds = probe_.stop().rounds;
  await("current-jobs-ready", clients * sizes().puts);
  EXPECT_EQ(stats("total-jobs"), clients * sizes().puts + rounds);
  crowd_.leave();
  await("current-connections", 2);
  // The jobs stay, with about 110 bytes each, and so do body_cache_bytes and the memtables.
  end(clients * sizes().puts * 128 + 64 * mib + 192 * mib);
}

// The client that comes last is not the last to be answered.
TEST_F(Flood, OfCommandsLeavesNobodyWaitingUntilAllOfItIsDone) {
  constexpr uint64_t commands = 20'000;
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(begin());
  Status status = crowd_.connect(server_.address(), clients);
  ASSERT_TRUE(status.ok()) << status.message();
  support::ClientSocket last = server_.connect();
  server_.signal(SIGSTOP);
  std::string deletes;
  for (uint64_t i = 0; i < commands; ++i) deletes += "delete 0\r\n";
  for (size_t i = 0; i < clients; ++i) crowd_.say(i, deletes, commands);
  status = crowd_.press();
  EXPECT_TRUE(status.ok()) << status.message();
  const bool was_sent = last.send("stats\r\n").ok();
  server_.signal(SIGCONT);
  ASSERT_TRUE(was_sent);
  const Result<std::string> seen = last.read_reply(60'000);
  ASSERT_TRUE(seen.ok()) << seen.status().message();
  EXPECT_LT(stat(*seen, "cmd-delete"), clients * commands / 2);
  status = crowd_.finish([](size_t /*client*/, std::string_view reply) {
    return reply == "NOT_FOUND\r\n" ? std::string() : std::string(reply);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  last.close();
  crowd_.leave();
  await("current-connections", 2);
  end(256 * mib);
}

}  // namespace
}  // namespace perennial::overload
