// Commands that are expensive because there are very many tubes. Other clients are served in
// between.

#include <algorithm>
#include <csignal>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/overload/overloaded.h"

namespace perennial::overload {
namespace {

constexpr uint64_t watched_max = 99'000;  // For one client. The server's own limit is 100,000.
constexpr size_t pipeline_bytes = 64 << 10;
constexpr uint64_t slack_bytes = 512 * mib;  // Memory of tubes that the allocator has not returned.

std::string any(size_t /*client*/, std::string_view /*reply*/) {
  return {};
}

std::string command(std::string_view word, uint64_t tube) {
  return fmt::format("{} tube-{}\r\n", word, tube);
}

class Tubes : public Overloaded {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(start()); }

  static uint64_t watched() { return std::min(sizes().tubes, watched_max); }

  void watch(size_t client, uint64_t first, uint64_t count) {
    std::string lines;
    for (uint64_t i = 0; i < count; ++i) lines += command("watch", first + i);
    crowd_.say(client, lines, count);
  }
  void finish() {
    const Status status = crowd_.finish(any);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  void connect(size_t count) {
    const Status status = crowd_.connect(server_.address(), count);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  // Makes as many clients as necessary watch all tubes.
  size_t watch_all() {
    const size_t watchers = (sizes().tubes + watched_max - 1) / watched_max;
    connect(watchers);
    for (size_t i = 0; i < watchers; ++i) {
      const uint64_t first = i * watched_max;
      watch(i, first, std::min(watched_max, sizes().tubes - first));
    }
    finish();
    return watchers;
  }

  // Sends as many of these commands as the server reads at once. Then asks for `key` on a
  // connection that comes after it: some of the commands must not have been run yet.
  void expect_others_in_between(size_t client, const std::string& line, const std::string& key) {
    const uint64_t count = pipeline_bytes / line.size();
    std::string lines;
    for (uint64_t i = 0; i < count; ++i) lines += line;
    support::ClientSocket last = server_.connect();
    const uint64_t before = stats(key);
    server_.signal(SIGSTOP);
    crowd_.say(client, lines, count);
    const Status pressed = crowd_.press();
    const bool was_sent = last.send("stats\r\n").ok();
    server_.signal(SIGCONT);
    ASSERT_TRUE(pressed.ok()) << pressed.message();
    ASSERT_TRUE(was_sent);
    const Result<std::string> seen = last.read_reply(60'000);
    ASSERT_TRUE(seen.ok()) << seen.status().message();
    EXPECT_LT(stat(*seen, key), before + count / 2) << "it waited for most of them";
    finish();
  }
};

TEST_F(Tubes, ReservesOfOneWhoWatchesManyLetOthersInBetween) {
  ASSERT_NO_FATAL_FAILURE(connect(1));
  watch(0, 0, watched());
  ASSERT_NO_FATAL_FAILURE(finish());
  begin();
  expect_others_in_between(0, "reserve-with-timeout 0\r\n", "cmd-reserve-with-timeout");
  crowd_.leave();
  await("current-connections", 2);
  end(slack_bytes);
}

TEST_F(Tubes, WatchingWhatOthersWatchIsNoLongTurn) {
  ASSERT_NO_FATAL_FAILURE(connect(2));
  watch(0, 0, watched());
  ASSERT_NO_FATAL_FAILURE(finish());
  begin();
  watch(1, 0, watched());
  ASSERT_NO_FATAL_FAILURE(finish());
  crowd_.leave();
  await("current-connections", 2);
  end(slack_bytes);
}

TEST_F(Tubes, ManyStatisticsLetOthersInBetween) {
  ASSERT_NO_FATAL_FAILURE(connect(1));
  begin();
  expect_others_in_between(0, "stats\r\n", "cmd-stats");
  crowd_.leave();
  await("current-connections", 2);
  end(64 * mib);
}

// The clients watch the same tubes, so that their number makes the operation long.
TEST_F(Tubes, ManyWhoWaitForManyAndGiveUpAtOnce) {
  constexpr size_t waiting = 20;
  ASSERT_NO_FATAL_FAILURE(connect(waiting));
  for (size_t i = 0; i < waiting; ++i) watch(i, 0, watched());
  ASSERT_NO_FATAL_FAILURE(finish());
  begin();
  server_.signal(SIGSTOP);
  for (size_t i = 0; i < waiting; ++i) crowd_.say(i, "reserve-with-timeout 1\r\n", 1);
  const Status pressed = crowd_.press();
  server_.signal(SIGCONT);
  EXPECT_TRUE(pressed.ok()) << pressed.message();
  ASSERT_NO_FATAL_FAILURE(finish());
  crowd_.leave();
  await("current-connections", 2);
  end(slack_bytes);
}

TEST_F(Tubes, AConnectionThatClosesLeavesAllThatItWatched) {
  ASSERT_NO_FATAL_FAILURE(connect(1));
  watch(0, 0, watched());
  ASSERT_NO_FATAL_FAILURE(finish());
  begin();
  crowd_.leave();
  await("current-connections", 2);
  await("current-tubes", 2);
  end(slack_bytes);
}

TEST_F(Tubes, ManyListsOfAll) {
  constexpr size_t asking = 20;
  ASSERT_NO_FATAL_FAILURE(watch_all());
  const size_t first = crowd_.size();
  ASSERT_NO_FATAL_FAILURE(connect(asking));
  begin();
  for (size_t i = first; i < first + asking; ++i) crowd_.say(i, "list-tubes\r\n", 1);
  const Status status = crowd_.finish([](size_t /*client*/, std::string_view reply) {
    const auto lines = static_cast<uint64_t>(std::count(reply.begin(), reply.end(), '\n'));
    // The first tube, default, the probe's tube, and two lines that frame the list.
    const bool is_whole = lines >= sizes().tubes + 4 && lines <= sizes().tubes + 5;
    return is_whole ? std::string() : fmt::format("{} lines", lines);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  crowd_.leave();
  await("current-connections", 2);
  await("current-tubes", 2);
  end(slack_bytes + sizes().tubes * 1024);
}

TEST_F(Tubes, AListOfAllThatOneWatches) {
  ASSERT_NO_FATAL_FAILURE(connect(1));
  watch(0, 0, watched());
  ASSERT_NO_FATAL_FAILURE(finish());
  begin();
  expect_others_in_between(0, "list-tubes-watched\r\n", "cmd-list-tubes-watched");
  crowd_.leave();
  await("current-connections", 2);
  end(slack_bytes);
}

}  // namespace
}  // namespace perennial::overload
