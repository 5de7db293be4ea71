#include "store/rocks/id_index.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/seed.h"

namespace perennial::store {
namespace {

TEST(IdIndex, ReturnsTheNumberBefore) {
  IdIndex index(4);
  EXPECT_EQ(index.find(0), 0U);
  EXPECT_EQ(index.exchange(0, 1), 0U);
  EXPECT_EQ(index.exchange(0, 2), 1U);
  EXPECT_EQ(index.exchange(UINT64_MAX, 3), 0U);
  EXPECT_EQ(index.exchange(0, 4), 2U);
  EXPECT_EQ(index.find(0), 4U);
  EXPECT_EQ(index.find(UINT64_MAX), 3U);
  EXPECT_EQ(index.find(1), 0U);
  EXPECT_EQ(index.find(UINT64_MAX - 1), 0U);
}

TEST(IdIndex, NeighboursShareALine) {
  IdIndex index(4);
  for (uint64_t id = 16; id < 48; ++id) EXPECT_EQ(index.exchange(id, 1), 0U);
  EXPECT_EQ(index.line_count(), 2U);
  EXPECT_EQ(index.find(15), 0U);
  EXPECT_EQ(index.find(48), 0U);
}

TEST(IdIndex, EqualsAMap) {
  std::mt19937_64 random(support::seed());
  for (const uint64_t ids : {10, 1'000, 1'000'000'000}) {
    IdIndex index(4);  // It grows.
    std::map<uint64_t, uint32_t> model;
    for (uint32_t number = 1; number < 20'000; ++number) {
      const uint64_t id = random() % ids;
      ASSERT_EQ(index.exchange(id, number), model[id]);
      model[id] = number;
      const uint64_t other = random() % ids;
      const auto found = model.find(other);
      ASSERT_EQ(index.find(other), found == model.end() ? 0 : found->second);
    }
  }
}

}  // namespace
}  // namespace perennial::store
