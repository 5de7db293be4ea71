#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/types/basic.h"
#include "engine/types/check.h"
#include "engine/types/id_page.h"

namespace perennial {

// A map from job ids to small values: a radix tree of pages, each of which takes one byte of the id
// and is as large as what it holds. Where ids are dense a value costs little more than itself;
// where one in many lives it costs a page of one value and a place in a page of pages, however far
// apart they are. Nothing is rehashed: no insertion moves more than one page on each level.
template <typename T>
class IdMap {
 public:
  IdMap() = default;
  IdMap(const IdMap&) = delete;
  IdMap& operator=(const IdMap&) = delete;
  ~IdMap() {
    if (root_ != nullptr) free_below(root_, levels_);
  }

  // Valid until the next call of anything that is not const.
  T* find(JobId id) {
    void** const place = find_place(id >> page_bits);
    return place != nullptr ? static_cast<Leaf*>(*place)->find(id & page_mask) : nullptr;
  }
  const T* find(JobId id) const { return const_cast<IdMap*>(this)->find(id); }

  // REQUIRES: `id` is not in the map.
  void insert(JobId id, const T& value) {
    void** place = find_place(id >> page_bits);
    if (place == nullptr) place = take_place(id >> page_bits);
    *place = Leaf::insert(static_cast<Leaf*>(*place), id & page_mask, value, bytes_);
    ++size_;
  }

  // REQUIRES: `id` is in the map.
  void erase(JobId id) {
    void** const place = find_place(id >> page_bits);
    CHECK(place != nullptr);
    auto* const leaf = Leaf::erase(static_cast<Leaf*>(*place), id & page_mask, bytes_);
    *place = leaf;
    --size_;
    if (leaf->empty()) keep_empty(id >> page_bits);
  }

  size_t size() const { return size_; }
  // Of all pages.
  size_t memory_bytes() const { return bytes_; }

 private:
  using Leaf = IdPage<T>;
  using Inner = IdPage<void*>;  // Of leaves, or of inner pages.

  static constexpr unsigned page_bits = 8;
  static constexpr uint64_t page_mask = (1u << page_bits) - 1;
  static constexpr unsigned levels_max = 64 / page_bits;

  // Which part of a leaf's number an inner page of this level takes. Leaves are level 1.
  static unsigned digit(uint64_t number, unsigned level) {
    return static_cast<unsigned>(number >> page_bits * (level - 2) & page_mask);
  }
  bool reaches(uint64_t number) const { return number >> page_bits * (levels_ - 1) == 0; }

  // Where the pointer to a leaf is; null if there is no such leaf.
  void** find_place(uint64_t number) {
    if (last_place_ != nullptr && last_number_ == number) return last_place_;
    if (root_ == nullptr || !reaches(number)) return nullptr;
    void** place = &root_;
    for (unsigned level = levels_; level > 1; --level) {
      place = static_cast<Inner*>(*place)->find(digit(number, level));
      if (place == nullptr) return nullptr;
    }
    last_number_ = number;
    last_place_ = place;
    return place;
  }

  // The same of one that is not there, made: the pointer is null.
  void** take_place(uint64_t number) {
    for (; !reaches(number); ++levels_) {
      if (root_ != nullptr) root_ = Inner::insert(nullptr, 0, root_, bytes_);
    }
    void** place = &root_;
    for (unsigned level = levels_; level > 1; --level) {
      auto* page = static_cast<Inner*>(*place);
      const unsigned index = digit(number, level);
      void** below = page != nullptr ? page->find(index) : nullptr;
      if (below == nullptr) {
        page = Inner::insert(page, index, nullptr, bytes_);
        *place = page;
        below = page->find(index);
      }
      place = below;
    }
    last_number_ = number;
    last_place_ = place;
    return place;
  }

  // A leaf has become empty. The latest is kept: most often the next id goes there. The one before
  // it goes, if it is still empty.
  void keep_empty(uint64_t number) {
    const uint64_t before = std::exchange(empty_number_, number);
    if (before == number) return;
    void** const place = find_place(before);
    if (place != nullptr && static_cast<Leaf*>(*place)->empty()) erase_leaf(before, place);
  }

  // Its pointer goes from the page above, and so on.
  void erase_leaf(uint64_t number, void** place) {
    last_place_ = nullptr;
    Leaf::free(static_cast<Leaf*>(*place), bytes_);
    *place = nullptr;
    void** places[levels_max + 1] = {};
    places[levels_] = &root_;
    for (unsigned level = levels_; level > 2; --level) {
      places[level - 1] = static_cast<Inner*>(*places[level])->find(digit(number, level));
    }
    for (unsigned level = 2; level <= levels_; ++level) {
      auto* const inner =
          Inner::erase(static_cast<Inner*>(*places[level]), digit(number, level), bytes_);
      *places[level] = inner;
      if (!inner->empty()) return;
      Inner::free(inner, bytes_);
      *places[level] = nullptr;
    }
  }

  void free_below(void* page, unsigned level) {
    if (level == 1) return Leaf::free(static_cast<Leaf*>(page), bytes_);
    auto* const inner = static_cast<Inner*>(page);
    inner->for_each([&](void* below) { free_below(below, level - 1); });
    Inner::free(inner, bytes_);
  }

  void* root_ = nullptr;
  unsigned levels_ = 1;  // With the leaves.
  size_t size_ = 0;
  size_t bytes_ = 0;
  // Neighbours are asked for together: the leaf that was found last.
  uint64_t last_number_ = 0;
  void** last_place_ = nullptr;
  uint64_t empty_number_ = UINT64_MAX;  // The last leaf that became empty.
};

}  // namespace perennial
