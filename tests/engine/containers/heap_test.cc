#include "engine/containers/heap.h"

#include <algorithm>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::engine {
namespace {

struct Item {
  uint64_t key = 0;
  uint64_t tie = 0;
  uint32_t index = not_in_heap;
};
using Heap = IndexedHeap<Item, &Item::index>;

TEST(ChunkedVector, HoldsPushedValuesAcrossManyChunks) {
  ChunkedVector<int> values;
  constexpr int count = 5000;
  for (int i = 0; i < count; ++i) values.push_back(i);
  ASSERT_EQ(values.size(), size_t{count});
  for (int i = 0; i < count; ++i) ASSERT_EQ(values[static_cast<size_t>(i)], i);
  for (int i = count; i > 0; --i) {
    ASSERT_EQ(values[values.size() - 1], i - 1);
    values.pop_back();
  }
  EXPECT_TRUE(values.empty());
  values.push_back(7);
  EXPECT_EQ(values[0], 7);
}

TEST(IndexedHeap, ReturnsItemsByKeyThenTie) {
  Heap heap;
  std::vector<Item> items = {{5, 1}, {3, 2}, {5, 0}, {1, 9}, {3, 1}};
  for (Item& item : items) heap.push(item.key, item.tie, item);
  std::vector<std::tuple<uint64_t, uint64_t>> order;
  while (!heap.empty()) {
    Item& top = *heap.top().item;
    order.emplace_back(top.key, top.tie);
    heap.remove(top);
    EXPECT_EQ(top.index, not_in_heap);
  }
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  EXPECT_EQ(order.size(), items.size());
}

TEST(IndexedHeap, HoldsOnlyItemsThatWerePushedIntoIt) {
  Heap one;
  Heap other;
  Item a{1, 1};
  Item b{2, 2};
  one.push(1, 1, a);
  other.push(2, 2, b);
  EXPECT_TRUE(one.holds(a));
  EXPECT_FALSE(one.holds(b));
  EXPECT_FALSE(other.holds(a));
  one.remove(a);
  EXPECT_FALSE(one.holds(a));
}

// Compares with a vector that is searched for its least item, with pushes, removals from anywhere
// and changes of key.
TEST(IndexedHeap, AgreesWithALinearSearch) {
  std::mt19937_64 random(42);
  Heap heap;
  std::vector<std::unique_ptr<Item>> items;
  const auto is_less = [](const auto& a, const auto& b) {
    return std::tuple(a->key, a->tie) < std::tuple(b->key, b->tie);
  };
  for (uint64_t step = 0; step < 20'000; ++step) {
    const uint64_t roll = random() % 3;
    if (roll == 0 || items.size() < 10) {
      items.push_back(std::make_unique<Item>(Item{.key = random() % 50, .tie = step}));
      heap.push(items.back()->key, items.back()->tie, *items.back());
    } else if (roll == 1) {
      Item& item = *items[random() % items.size()];
      item.key = random() % 50;
      heap.update(item.key, item.tie, item);
    } else {
      const size_t at = random() % items.size();
      heap.remove(*items[at]);
      items.erase(items.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const Item& least = **std::min_element(items.begin(), items.end(), is_less);
    ASSERT_EQ(heap.top().item, &least);
    ASSERT_EQ(heap.size(), items.size());
    if (step % 100 == 0) heap.check();
  }
}

}  // namespace
}  // namespace perennial::engine
