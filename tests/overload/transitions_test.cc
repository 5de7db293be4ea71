// Commands and ends of connections that cause very many transitions at once.

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/overload/overloaded.h"
#include "tests/overload/stored_jobs.h"

namespace perennial::overload {
namespace {

constexpr int patience_ms = 600'000;

class Transitions : public Overloaded {
 protected:
  void start_with(uint64_t count, JobState state, const std::string& config = {},
                  uint32_t delay_s = 0) {
    const Status stored = store_jobs(server_.data_dir(), count, state, delay_s);
    ASSERT_TRUE(stored.ok()) << stored.message();
    start(config);
    begin();
  }
};

TEST_F(Transitions, AKickOfAllLetsOthersInBetween) {
  ASSERT_NO_FATAL_FAILURE(start_with(sizes().moved, JobState::Buried));
  support::ClientSocket client = server_.connect();
  EXPECT_EQ(client.ask(fmt::format("kick {}\r\n", sizes().moved), patience_ms).take(),
            fmt::format("KICKED {}\r\n", sizes().moved));
  const uint64_t rounds = probe_.stop().rounds;
  await("current-jobs-ready", sizes().moved);
  EXPECT_EQ(stats("current-jobs-buried"), 0u);
  EXPECT_EQ(stats("total-jobs"), sizes().moved + rounds);
  client.close();
  await("current-connections", 2);
  // The transitions are in flight to the disk and in the memtables.
  end(sizes().moved * 64 + 256 * mib);
}

TEST_F(Transitions, AFlushOfAllLetsOthersInBetween) {
  ASSERT_NO_FATAL_FAILURE(start_with(sizes().moved, JobState::Buried));
  support::ClientSocket client = server_.connect();
  EXPECT_EQ(client.ask("flush-tube default state:buried\r\n", patience_ms).take(),
            fmt::format("FLUSHED {}\r\n", sizes().moved));
  const uint64_t rounds = probe_.stop().rounds;
  EXPECT_EQ(stats("current-jobs-buried"), 0u);
  EXPECT_EQ(stats("total-jobs"), sizes().moved + rounds);
  client.close();
  await("current-connections", 2);
  end(sizes().moved * 64 + 256 * mib);
}

TEST_F(Transitions, AMoveOfAllLetsOthersInBetween) {
  ASSERT_NO_FATAL_FAILURE(start_with(sizes().moved, JobState::Buried));
  support::ClientSocket client = server_.connect();
  EXPECT_EQ(client.ask("move-tube default elsewhere state:buried\r\n", patience_ms).take(),
            fmt::format("MOVED {}\r\n", sizes().moved));
  const uint64_t rounds = probe_.stop().rounds;
  EXPECT_EQ(stats("current-jobs-buried"), 0u);
  await("current-jobs-ready", sizes().moved);
  EXPECT_EQ(stats("total-jobs"), sizes().moved + rounds);
  client.close();
  await("current-connections", 2);
  end(sizes().moved * 64 + 256 * mib);
}

// A tube with one job, and a listing of a tube with none, among very many jobs of another tube.
TEST_F(Transitions, AWalkOverTheJobsOfOthersLetsOthersInBetween) {
  ASSERT_NO_FATAL_FAILURE(start_with(sizes().moved, JobState::Buried));
  support::ClientSocket client = server_.connect();
  EXPECT_EQ(client.ask("put 0 0 60 1 tube:few\r\nx\r\n", patience_ms).take().substr(0, 9),
            "INSERTED ");
  uint64_t listed = 0;
  uint64_t cursor = 0;
  do {
    const std::string page =
        client.ask(fmt::format("list-jobs few after:{}\r\n", cursor), patience_ms).take();
    ASSERT_TRUE(page.starts_with("OK ")) << page;
    constexpr std::string_view key = "cursor: ";
    cursor = std::stoull(page.substr(page.find(key) + key.size()));
    listed += page.find("tube: \"few\"") != std::string::npos ? 1 : 0;
  } while (cursor != 0);
  EXPECT_EQ(listed, 1u);
  EXPECT_EQ(client.ask("flush-tube few\r\n", patience_ms).take(), "FLUSHED 1\r\n");
  EXPECT_EQ(client.ask("flush-tube few\r\n", patience_ms).take(), "NOT_FOUND\r\n");
  probe_.stop();
  EXPECT_EQ(stats("current-jobs-buried"), sizes().moved);
  client.close();
  await("current-connections", 2);
  end(256 * mib);
}

TEST_F(Transitions, DelaysThatEndAllAtOnceLetOthersInBetween) {
  // The delays end well after the start, which takes a second for a million jobs.
  const auto delay_s = static_cast<uint32_t>(2 + sizes().moved / 500'000);
  ASSERT_NO_FATAL_FAILURE(start_with(sizes().moved, JobState::Delayed, {}, delay_s));
  EXPECT_EQ(stats("current-jobs-delayed"), sizes().moved);
  await("current-jobs-ready", sizes().moved);
  const uint64_t rounds = probe_.stop().rounds;
  EXPECT_EQ(stats("current-jobs-delayed"), 0u);
  EXPECT_EQ(stats("total-jobs"), sizes().moved + rounds);
  end(sizes().moved * 64 + 256 * mib);
}

TEST_F(Transitions, AConnectionThatClosesGivesAllItsReservationsBack) {
  ASSERT_NO_FATAL_FAILURE(start_with(sizes().reserved, JobState::Ready,
                                     fmt::format("reserved_max: {}\n", sizes().reserved)));
  Status status = crowd_.connect(server_.address(), 1);
  ASSERT_TRUE(status.ok()) << status.message();
  for (uint64_t i = 0; i < sizes().reserved; ++i) crowd_.say(0, "reserve\r\n", 1);
  uint64_t last = 0;
  status = crowd_.finish([&last](size_t /*client*/, std::string_view reply) {
    return reply == fmt::format("RESERVED {} 8\r\n8 bytes.\r\n", ++last) ? std::string()
                                                                         : std::string(reply);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  // The probe reserves a job for a moment now and then.
  EXPECT_GE(stats("current-jobs-reserved"), sizes().reserved);
  crowd_.leave();
  await("current-connections", 2);
  const uint64_t rounds = probe_.stop().rounds;
  await("current-jobs-reserved", 0);
  await("current-jobs-ready", sizes().reserved);
  EXPECT_EQ(stats("total-jobs"), sizes().reserved + rounds);
  end(256 * mib);
}

}  // namespace
}  // namespace perennial::overload
