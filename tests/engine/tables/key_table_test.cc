#include "engine/tables/key_table.h"

#include <map>
#include <random>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace perennial::engine {
namespace {

TEST(KeyTable, FindsAKeyOnlyInItsTube) {
  KeyTable table;
  EXPECT_EQ(table.find("a", "k"), nullptr);
  table.store("a", "k", {.job = 7});
  ASSERT_NE(table.find("a", "k"), nullptr);
  EXPECT_EQ(table.find("a", "k")->job, 7u);
  EXPECT_EQ(table.find("b", "k"), nullptr);
  EXPECT_EQ(table.find("a", "l"), nullptr);
  EXPECT_EQ(table.size(), 1u);
}

// The same letters, divided otherwise.
TEST(KeyTable, TubeAndKeyAreToldApart) {
  KeyTable table;
  table.store("ab", "c", {.job = 1});
  EXPECT_EQ(table.find("a", "bc"), nullptr);
  EXPECT_EQ(table.find("abc", ""), nullptr);
}

TEST(KeyTable, TheFirstToExpireIsTheSoonest) {
  KeyTable table;
  table.store("a", "held", {.job = 1});
  EXPECT_FALSE(table.soonest().has_value());
  table.store("a", "late", {.job = 2, .expires_at = 20});
  table.store("b", "soon", {.job = 3, .expires_at = 10});
  EXPECT_EQ(table.soonest(), 10);
  EXPECT_EQ(table.first_to_expire().tube, "b");
  EXPECT_EQ(table.first_to_expire().key, "soon");
  table.store("b", "soon", {.job = 3, .expires_at = 30});
  EXPECT_EQ(table.first_to_expire().key, "late");
  table.erase("a", "late");
  EXPECT_EQ(table.soonest(), 30);
  table.store("b", "soon", {.job = 4});
  EXPECT_FALSE(table.soonest().has_value());
}

TEST(KeyTable, ATubesCooldownsAreFoundByItsName) {
  KeyTable table;
  table.store("mail", "held", {.job = 1});
  table.store("mail-2", "k", {.job = 2, .expires_at = 10});
  table.store("mai", "l", {.job = 3, .expires_at = 10});
  EXPECT_FALSE(table.any_that_expires("mail").has_value());
  table.store("mail", "k", {.job = 4, .expires_at = 10});
  ASSERT_TRUE(table.any_that_expires("mail").has_value());
  EXPECT_EQ(table.any_that_expires("mail")->key, "k");
}

TEST(KeyTable, MemoryFollowsWhatIsInIt) {
  KeyTable table;
  for (int i = 0; i < 1000; ++i) table.store("t", std::to_string(i), {.job = 1, .expires_at = i});
  EXPECT_GT(table.memory_bytes(), 1000u * 60);
  for (int i = 0; i < 1000; ++i) table.erase("t", std::to_string(i));
  EXPECT_EQ(table.memory_bytes(), 0u);
  EXPECT_EQ(table.size(), 0u);
}

TEST(KeyTable, AgreesWithASimpleMap) {
  std::mt19937_64 random(7);
  KeyTable table;
  std::map<std::pair<std::string, std::string>, KeyTable::Entry> map;
  for (int i = 0; i < 20'000; ++i) {
    const std::string tube = std::to_string(random() % 5);
    const std::string key = std::to_string(random() % 50);
    const std::pair name(tube, key);
    if (random() % 3 == 0 && map.contains(name)) {
      table.erase(tube, key);
      map.erase(name);
    } else {
      const KeyTable::Entry entry = {.job = random() % 9,
                                     .expires_at = static_cast<Nanos>(random() % 4)};
      table.store(tube, key, entry);
      map[name] = entry;
    }
    const KeyTable::Entry* const found = table.find(tube, key);
    ASSERT_EQ(found != nullptr, map.contains(name));
    if (found == nullptr) continue;
    ASSERT_EQ(found->job, map[name].job);
  }
  size_t count = 0;
  table.for_each([&](const KeyTable::Name& name, const KeyTable::Entry& entry) {
    ++count;
    EXPECT_EQ(map.at({name.tube, name.key}).expires_at, entry.expires_at);
  });
  EXPECT_EQ(count, map.size());
  EXPECT_EQ(table.size(), map.size());
}

}  // namespace
}  // namespace perennial::engine
