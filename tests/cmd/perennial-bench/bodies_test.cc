#include "cmd/perennial-bench/load/bodies.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::bench {
namespace {

std::string body_of(const Bodies& bodies, size_t bytes, Nanos time) {
  std::string body(bytes, '\0');
  bodies.write(body.data(), time);
  return body;
}

TEST(Bodies, SayWhenTheyWerePut) {
  const Bodies bodies(100, 1);
  const std::string body = body_of(bodies, 100, 12345);
  EXPECT_TRUE(bodies.is_one(body));
  EXPECT_EQ(bodies.time_of(body), 12345);
}

TEST(Bodies, AreNotOneWhenAByteIsWrong) {
  const Bodies bodies(100, 1);
  const std::string body = body_of(bodies, 100, 12345);
  for (size_t at = 0; at < body.size(); ++at) {
    std::string wrong = body;
    wrong[at] ^= 1;
    EXPECT_FALSE(bodies.is_one(wrong)) << at;
  }
  EXPECT_FALSE(bodies.is_one(body + "x"));
  EXPECT_FALSE(bodies.is_one(body.substr(1)));
  EXPECT_FALSE(Bodies(100, 2).is_one(body));
}

TEST(Bodies, AreUnlikeTheNext) {
  const Bodies bodies(1000, 1);
  const std::string first = body_of(bodies, 1000, 1'000'000);
  const std::string next = body_of(bodies, 1000, 1'000'050);
  EXPECT_EQ(first.find(next.substr(8, 16)), std::string::npos);
  EXPECT_EQ(next.find(first.substr(8, 16)), std::string::npos);
}

TEST(Bodies, MayBeTooShortForATime) {
  for (const uint32_t bytes : {0u, 1u, 7u}) {
    const Bodies bodies(bytes, 1);
    const std::string body = body_of(bodies, bytes, 12345);
    EXPECT_TRUE(bodies.is_one(body));
    EXPECT_EQ(bodies.time_of(body), std::nullopt);
    EXPECT_EQ(body, body_of(bodies, bytes, 99999));
  }
  EXPECT_EQ(Bodies(8, 1).time_of(body_of(Bodies(8, 1), 8, 77)), 77);
}

}  // namespace
}  // namespace perennial::bench
