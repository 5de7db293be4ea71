// As many small jobs as a hundred clients can send, none of whom waits for an answer.

#include <charconv>
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
  const uint64_t rounds = witness_.stop().rounds;
  await("current-jobs-ready", clients * sizes().puts);
  EXPECT_EQ(stats("total-jobs"), clients * sizes().puts + rounds);
  crowd_.leave();
  await("current-connections", 2);
  // The jobs stay, about 110 bytes each; and body_cache_bytes, the memtables.
  end(clients * sizes().puts * 128 + 64 * mib + 192 * mib);
}

}  // namespace
}  // namespace perennial::overload
