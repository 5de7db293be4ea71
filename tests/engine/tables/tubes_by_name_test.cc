#include "engine/tables/tubes_by_name.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::engine {
namespace {

TEST(TubesByName, FindsTubesThatWereInsertedAndNotErased) {
  constexpr size_t count = 5'000;
  std::vector<Tube> tubes(count);
  TubesByName index;
  for (size_t i = 0; i < count; ++i) {
    tubes[i].name = "tube" + std::to_string(i);
    EXPECT_EQ(index.find(tubes[i].name), nullptr);
    index.insert(tubes[i]);
  }
  EXPECT_EQ(index.size(), count);
  for (size_t i = 0; i < count; i += 2) index.erase(tubes[i]);
  EXPECT_EQ(index.size(), count / 2);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(index.find(tubes[i].name), i % 2 == 0 ? nullptr : &tubes[i]);
  }
}

}  // namespace
}  // namespace perennial::engine
