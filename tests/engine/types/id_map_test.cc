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

TEST(IdMap, AgreesWithAMap) {
  std::mt19937_64 random(3);
  IdMap<uint64_t> map;
  std::map<JobId, uint64_t> wanted;
  for (uint64_t step = 0; step < 100'000; ++step) {
    const JobId id = random() % 2000;
    if (wanted.contains(id)) {
      map.erase(id);
      wanted.erase(id);
    } else {
      map.insert(id, step);
      wanted[id] = step;
    }
    const JobId other = random() % 2000;
    const auto found = wanted.find(other);
    const uint64_t* const value = map.find(other);
    ASSERT_EQ(value != nullptr, found != wanted.end());
    if (value != nullptr) {
      ASSERT_EQ(*value, found->second);
    }
    ASSERT_EQ(map.size(), wanted.size());
  }
}

}  // namespace
}  // namespace perennial
