// The memory budget is reached and left again.

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/overload/overloaded.h"

namespace perennial::overload {
namespace {

using Budget = Overloaded;

constexpr size_t clients = 40;
constexpr size_t body_bytes = 4 << 20;
constexpr uint64_t budget_bytes = 64 * mib;

// The clients together send more than twice the budget at once.
TEST_F(Budget, BodiesThatExceedItTogetherAreRefusedAndMemoryReturns) {
  ASSERT_NO_FATAL_FAILURE(start(fmt::format(
      "memory_bytes_max: {}\njob_bytes_max: {}\nbody_cache_bytes: 0\n", budget_bytes, body_bytes)));
  ASSERT_NO_FATAL_FAILURE(begin(true));
  Status status = crowd_.connect(server_.address(), clients);
  ASSERT_TRUE(status.ok()) << status.message();
  const std::string put = put_of(body_bytes);
  const size_t begun = put.size() - 1000;
  for (size_t i = 0; i < clients; ++i) crowd_.say(i, put.substr(0, begun), 0);
  status = crowd_.press();
  ASSERT_TRUE(status.ok()) << status.message();
  await_steady_memory();
  for (size_t i = 0; i < clients; ++i) crowd_.say(i, put.substr(begun), 1);
  uint64_t inserted = 0;
  uint64_t refused = 0;
  status = crowd_.finish([&](size_t /*client*/, std::string_view reply) {
    inserted += reply.starts_with("INSERTED ");
    refused += reply == "OUT_OF_MEMORY\r\n";
    const bool expected = reply.starts_with("INSERTED ") || reply == "OUT_OF_MEMORY\r\n";
    return expected ? std::string() : std::string(reply);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(inserted + refused, clients);
  EXPECT_GT(inserted, 0u);
  EXPECT_GT(refused, clients / 2);
  await("current-jobs-ready", inserted);
  EXPECT_EQ(server_.connect().ask(put_of(body_bytes), 60'000).take().substr(0, 9), "INSERTED ");
  crowd_.leave();
  await("current-connections", 2);
  // Bodies in memtables remain, and what malloc keeps of dropped bodies.
  end(192 * mib);
  EXPECT_LT(peak_bytes_, budget_bytes + 192 * mib);
}

// Jobs with tiny bodies fill the budget, too. Deletes still work and make memory available.
TEST_F(Budget, FullOfJobsItRefusesPutsAndServesAllElse) {
  ASSERT_NO_FATAL_FAILURE(start("memory_bytes_max: 16MiB\nbody_cache_bytes: 0\n"));
  ASSERT_NO_FATAL_FAILURE(begin(true));
  Status status = crowd_.connect(server_.address(), 10);
  ASSERT_TRUE(status.ok()) << status.message();
  constexpr uint64_t puts_count = 500;
  constexpr uint64_t jobs_max = 1'000'000;
  std::string puts;
  for (uint64_t i = 0; i < puts_count; ++i) puts += put_of(1);
  std::vector<std::string> ids;
  uint64_t refused = 0;
  // Data that waits in connections counts, too. The budget is full when a whole round of puts is
  // refused, and then also a single put.
  while (refused < puts_count * crowd_.size() && ids.size() < jobs_max) {
    refused = 0;
    for (size_t i = 0; i < crowd_.size(); ++i) crowd_.say(i, puts, puts_count);
    status = crowd_.finish([&](size_t /*client*/, std::string_view reply) {
      if (reply.starts_with("INSERTED ")) ids.emplace_back(reply.substr(9));
      const bool is_refused = reply == "OUT_OF_MEMORY\r\n";
      refused += is_refused;
      return is_refused || reply.starts_with("INSERTED ") ? std::string() : std::string(reply);
    });
    ASSERT_TRUE(status.ok()) << status.message();
  }
  support::ClientSocket client = server_.connect();
  std::string last = client.ask(put_of(1)).take();
  for (int i = 0; i < 10'000 && last != "OUT_OF_MEMORY\r\n"; ++i) {
    ids.push_back(last.substr(9));
    last = client.ask(put_of(1)).take();
  }
  EXPECT_EQ(last, "OUT_OF_MEMORY\r\n");
  client.close();
  EXPECT_GT(ids.size(), 50'000u);
  await("current-jobs-ready", ids.size());
  for (size_t i = 0; i < ids.size(); ++i) crowd_.say(i % crowd_.size(), "delete " + ids[i], 1);
  status = crowd_.finish([](size_t /*client*/, std::string_view reply) {
    return reply == "DELETED\r\n" ? std::string() : std::string(reply);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(server_.connect().ask(put_of(1)).take().substr(0, 9), "INSERTED ");
  await("current-jobs-ready", 1);
  crowd_.leave();
  await("current-connections", 2);
  end(192 * mib);
}

}  // namespace
}  // namespace perennial::overload
