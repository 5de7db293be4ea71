#include "cmd/perenniald/core/body_cache.h"

#include <string>

#include <gtest/gtest.h>

namespace perennial::core {
namespace {

Body body_of(size_t bytes) {
  return Body(std::string(bytes, 'x'));
}

class BodyCacheTest : public testing::Test {
 protected:
  MemoryBudget budget_{{}};
  SharedBodies shared_bodies_{budget_, 1 << 20};
};

TEST_F(BodyCacheTest, PinsBodiesUntilTheirBatchIsWritten) {
  BodyCache cache(0, budget_, shared_bodies_);
  cache.insert(1, Body("one"), 1);
  cache.insert(2, Body("two"), 2);
  EXPECT_EQ(cache.find(1)->view(), "one");
  cache.unpin(1);
  EXPECT_EQ(cache.find(1), nullptr);
  EXPECT_EQ(cache.find(2)->view(), "two");
  cache.unpin(2);
  EXPECT_EQ(cache.find(2), nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST_F(BodyCacheTest, KeepsTheNewestBodiesThatFit) {
  BodyCache cache(3000, budget_, shared_bodies_);
  for (JobId id = 1; id <= 10; ++id) cache.insert(id, body_of(900), id);
  cache.unpin(10);
  EXPECT_LE(cache.bytes(), 3000u);
  EXPECT_EQ(cache.find(7), nullptr);
  EXPECT_NE(cache.find(8), nullptr);
  EXPECT_NE(cache.find(10), nullptr);
}

TEST_F(BodyCacheTest, KeepsTheBytesOfAnErasedBodyUntilItsBatchIsWritten) {
  BodyCache cache(1 << 20, budget_, shared_bodies_);
  const std::string_view bytes = cache.insert(1, Body("still here"), 1);
  cache.erase(1, 2);
  EXPECT_EQ(cache.find(1), nullptr);
  EXPECT_EQ(bytes, "still here");  // The committer may read it; a sanitizer would see it freed.
  EXPECT_GT(cache.bytes(), 0u);
  cache.unpin(1);
  cache.unpin(2);
  EXPECT_EQ(cache.bytes(), 0u);
}

TEST_F(BodyCacheTest, FreesAnErasedBodyAtOnceIfItsBatchIsWritten) {
  BodyCache cache(1 << 20, budget_, shared_bodies_);
  cache.insert(1, Body("x"), 1);
  cache.unpin(1);
  cache.erase(1, 2);
  EXPECT_EQ(cache.bytes(), 0u);
  cache.erase(1, 2);  // It is not in the cache, so nothing happens.
}

TEST_F(BodyCacheTest, HoldsAnEmptyBody) {
  BodyCache cache(1 << 20, budget_, shared_bodies_);
  cache.insert(1, Body(), 1);
  EXPECT_EQ(cache.find(1)->view(), "");
}

}  // namespace
}  // namespace perennial::core
