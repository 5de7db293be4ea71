#include "engine/types/id_map.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace perennial {
namespace {

TEST(IdMap, FindsWhatWasInserted) {
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

// Dense, sparse, and all of an id's bits; sizes go up and down through all forms of a page.
TEST(IdMap, AgreesWithAMap) {
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
  size_t bytes_max;  // For each of what is in the map.
};

class IdMapMemory : public testing::TestWithParam<SpacingCase> {};

TEST_P(IdMapMemory, FollowsWhatIsInItHoweverFarApart) {
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

// What is left over of a long life: all others came and went.
TEST(IdMap, MemoryFollowsTheFewThatStay) {
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

}  // namespace
}  // namespace perennial
