// Very many keys, and very many jobs that wait for one of their concurrency key.

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/overload/overloaded.h"

namespace perennial::overload {
namespace {

constexpr int patience_ms = 600'000;
constexpr uint64_t batch_jobs = 1'000;

class Keys : public Overloaded {
 protected:
  // Puts jobs that each have a key of their own, and all the same concurrency key.
  void put_batch(support::ClientSocket& client, uint64_t first, uint64_t count) {
    std::string items;
    for (uint64_t i = first; i < first + count; ++i) {
      items += fmt::format("0 0 3600 1 idp:key-{} con:customer\r\nx\r\n", i);
    }
    const size_t bytes = items.size() - 2;
    const std::string reply =
        client
            .ask(fmt::format("put-batch {} {} tube:calls\r\n{}", count, bytes, items), patience_ms)
            .take();
    ASSERT_EQ(reply, fmt::format("INSERTED_BATCH {} 0\r\n", count));
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(client.read_reply(patience_ms).take().starts_with("INSERTED "));
    }
  }
};

TEST_F(Keys, AndParkedJobsLetOthersInBetween) {
  start();
  begin();
  support::ClientSocket client = server_.connect();
  const uint64_t jobs = sizes().reserved;
  for (uint64_t put = 0; put < jobs; put += batch_jobs) {
    ASSERT_NO_FATAL_FAILURE(put_batch(client, put, std::min(batch_jobs, jobs - put)));
  }
  EXPECT_EQ(stats("current-keys"), jobs);
  ASSERT_EQ(client.ask("watch calls\r\n").take(), "WATCHING 2\r\n");
  ASSERT_EQ(client.ask("ignore default\r\n").take(), "WATCHING 1\r\n");
  // One may run, and all others are behind it. One without the key is not.
  const std::string first = client.ask("reserve\r\n").take();
  ASSERT_TRUE(first.starts_with("RESERVED ")) << first;
  EXPECT_EQ(stats("current-jobs-parked"), jobs - 1);
  EXPECT_EQ(client.ask("reserve-with-timeout 0\r\n").take(), "TIMED_OUT\r\n");
  ASSERT_TRUE(client.ask("put 9 0 3600 4 tube:calls\r\nfree\r\n").take().starts_with("INSERTED "));
  EXPECT_TRUE(client.ask("reserve-with-timeout 0\r\n").take().ends_with("\r\nfree\r\n"));
  // Each end lets the next one go.
  const std::string id = first.substr(9, first.find(' ', 9) - 9);
  EXPECT_EQ(client.ask(fmt::format("delete {}\r\n", id)).take(), "DELETED\r\n");
  EXPECT_TRUE(client.ask("reserve-with-timeout 0\r\n").take().starts_with("RESERVED "));
  EXPECT_EQ(stats("current-jobs-parked"), jobs - 2);
  EXPECT_EQ(client.ask("flush-tube calls\r\n", patience_ms).take(),
            fmt::format("FLUSHED {}\r\n", jobs));
  probe_.stop();
  EXPECT_EQ(stats("current-keys"), 0u);
  EXPECT_EQ(stats("current-jobs-parked"), 0u);
  client.close();
  await("current-connections", 2);
  end(jobs * 1'024 + 256 * mib);
}

}  // namespace
}  // namespace perennial::overload
