#include "engine/types/id_map.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace perennial {
namespace {

TEST(IdMap, FindsOnlyInsertedIds) {
  IdMap<int> map;
  EXPECT_EQ(map.find(1), nullptr);
  map.insert(1, 10);
  map.insert(256, 20);
  map.insert(UINT64_MAX, 30);
  EXPECT_EQ(*map.find(1), 10);
  EXPECT_EQ(*map.find(256), 20);
  EXPECT_EQ(*map.find(UINT64_MAX), 30);
  EXPECT_EQ(map.find(2), nullptr);
  map.erase(256);
  EXPECT_EQ(map.find(256), nullptr);
  EXPECT_EQ(map.size(), 2u);
}

// Dense and sparse ids, up to those that use all bits. The sizes grow and shrink through all forms
// of a page.
TEST(IdMap, AgreesWithStdMap) {
  for (const JobId spacing : {JobId{1}, JobId{7}, JobId{300}, JobId{1} << 53}) {
    std::mt19937_64 random(3);
    IdMap<uint64_t> map;
    std::map<JobId, uint64_t> wanted;
    for (uint64_t step = 0; step < 200'000; ++step) {
      const JobId id = random() % 2000 * spacing;
      const bool is_growing = step / 10'000 % 2 == 0;
      if (wanted.contains(id)) {
        if (is_growing && random() % 8 != 0) continue;
        map.erase(id);
        wanted.erase(id);
      } else if (is_growing || random() % 8 == 0) {
        map.insert(id, step);
        wanted[id] = step;
      }
      const JobId other = random() % 2000 * spacing;
      const auto found = wanted.find(other);
      const uint64_t* const value = map.find(other);
      ASSERT_EQ(value != nullptr, found != wanted.end());
      if (value != nullptr) {
        ASSERT_EQ(*value, found->second);
      }
      ASSERT_EQ(map.size(), wanted.size());
    }
  }
}

struct SpacingCase {
  const char* name;
  JobId first;
  JobId step;
  size_t bytes_max;  // For each id in the map.
};

class IdMapMemory : public testing::TestWithParam<SpacingCase> {};

TEST_P(IdMapMemory, FollowsTheNumberOfIdsForAnyDistance) {
  constexpr uint64_t count = 100'000;
  const SpacingCase& c = GetParam();
  IdMap<uint64_t> map;
  for (uint64_t i = 0; i < count; ++i) map.insert(c.first + i * c.step, i);
  EXPECT_LE(map.memory_bytes(), count * c.bytes_max);
  for (uint64_t i = 0; i < count; ++i) ASSERT_EQ(*map.find(c.first + i * c.step), i);
  EXPECT_EQ(map.find(c.first + count * c.step), nullptr);
  for (uint64_t i = 0; i < count; ++i) map.erase(c.first + i * c.step);
  EXPECT_EQ(map.size(), 0u);
  EXPECT_LE(map.memory_bytes(), 4'000u);  // The last page is kept.
}

INSTANTIATE_TEST_SUITE_P(
    All, IdMapMemory,
    testing::Values(SpacingCase{"Dense", 1, 1, 9}, SpacingCase{"EverySecond", 1, 2, 17},
                    SpacingCase{"EverySixteenth", 1, 16, 17},
                    SpacingCase{"EveryOneOf256", 1, 256, 32},
                    SpacingCase{"EveryOneOf65536", 1, 65'536, 48},
                    SpacingCase{"PastAGapOf2To53", uint64_t{1} << 53, 256, 32},
                    SpacingCase{"EachAGapOf2To40Apart", 1, uint64_t{1} << 40, 128}),
    [](const auto& tested) { return tested.param.name; });

// A queue after a long time: nearly all jobs were deleted.
TEST(IdMap, MemoryFollowsTheFewIdsThatRemain) {
  constexpr JobId ids = 2'560'000;
  constexpr JobId lag = 1'000;
  IdMap<uint64_t> map;
  for (JobId id = 1; id <= ids + lag; ++id) {
    if (id <= ids) map.insert(id, id);
    if (id > lag && (id - lag) % 256 != 0) map.erase(id - lag);
  }
  EXPECT_EQ(map.size(), ids / 256);
  EXPECT_LE(map.memory_bytes(), 56 * map.size());
}

TEST(IdMapOrder, TheFirstFromAnIdIsFoundWhereverItIs) {
  IdMap<uint64_t> map;
  EXPECT_EQ(map.first_from(0).value, nullptr);
  std::set<uint64_t> ids;
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    // Dense, sparse and very far ids.
    const unsigned shift = static_cast<unsigned>(random() % 64);
    const uint64_t id = (random() >> shift) + 1;
    if (ids.insert(id).second) map.insert(id, id);
    if (ids.size() % 3 == 0) {
      map.erase(*ids.begin());
      ids.erase(ids.begin());
    }
    for (const uint64_t from : {uint64_t{0}, random() >> shift, id, id + 1, UINT64_MAX}) {
      const auto want = ids.lower_bound(from);
      const auto got = map.first_from(from);
      ASSERT_EQ(got.value != nullptr, want != ids.end()) << from;
      if (got.value == nullptr) continue;
      ASSERT_EQ(got.id, *want);
      ASSERT_EQ(*got.value, *want);
    }
  }
}

TEST(IdMapOrder, TheLastToAnIdIsFoundWhereverItIs) {
  IdMap<uint64_t> map;
  EXPECT_EQ(map.last_to(UINT64_MAX).value, nullptr);
  std::set<uint64_t> ids;
  std::mt19937_64 random(11);
  for (int i = 0; i < 3000; ++i) {
    // At first only low ids, so that the map has few levels.
    const unsigned shift = static_cast<unsigned>(random() % 64);
    const uint64_t id = (random() >> (i < 1000 ? std::max(shift, 50u) : shift)) + 1;
    if (ids.insert(id).second) map.insert(id, id);
    if (ids.size() % 3 == 0) {
      map.erase(*ids.rbegin());
      ids.erase(*ids.rbegin());
    }
    for (const uint64_t to : {uint64_t{0}, random() >> shift, id, id - 1, UINT64_MAX}) {
      const auto above = ids.upper_bound(to);
      const auto got = map.last_to(to);
      ASSERT_EQ(got.value != nullptr, above != ids.begin()) << to;
      if (got.value == nullptr) continue;
      ASSERT_EQ(got.id, *std::prev(above));
      ASSERT_EQ(*got.value, *std::prev(above));
    }
  }
}

}  // namespace
}  // namespace perennial
