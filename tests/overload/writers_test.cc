// Clients that send a put slowly, or never complete it.

#include <string>

#include <gtest/gtest.h>

#include "tests/overload/overloaded.h"

namespace perennial::overload {
namespace {

using Writers = Overloaded;

constexpr size_t body_bytes = 65'000;

// Half of the clients stop within the body. The others send theirs byte by byte.
TEST_F(Writers, ThatAreSlowCostOnlyTheirBytesAndAreAnswered) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_NO_FATAL_FAILURE(begin());
  Status status = crowd_.connect(server_.address(), sizes().connections);
  ASSERT_TRUE(status.ok()) << status.message();
  const std::string put = put_of(body_bytes);
  const size_t pieces = 60;
  const size_t begun = put.size() - pieces;
  for (size_t i = 0; i < crowd_.size(); ++i) crowd_.say(i, put.substr(0, begun), 0);
  status = crowd_.press();
  ASSERT_TRUE(status.ok()) << status.message();
  await("current-connections", sizes().connections + 2);
  const size_t slow = crowd_.size() / 2;
  for (size_t piece = 0; piece < pieces; ++piece) {
    for (size_t i = 0; i < slow; ++i) {
      ASSERT_TRUE(crowd_.socket(i).send(put.substr(begun + piece, 1)).ok());
    }
  }
  for (size_t i = 0; i < slow; ++i) crowd_.say(i, "", 1);
  status = crowd_.finish([](size_t /*client*/, std::string_view reply) {
    return reply.starts_with("INSERTED ") ? std::string() : std::string(reply);
  });
  EXPECT_TRUE(status.ok()) << status.message();
  for (size_t i = slow; i < crowd_.size(); ++i) crowd_.leave(i);
  crowd_.leave();
  await("current-connections", 2);
  const uint64_t rounds = probe_.stop().rounds;
  await("current-jobs-ready", slow);
  EXPECT_EQ(stats("total-jobs"), slow + rounds);
  // The bodies of the jobs may stay in body_cache_bytes and in memtables.
  end(64 * mib + 96 * mib);
}

}  // namespace
}  // namespace perennial::overload
