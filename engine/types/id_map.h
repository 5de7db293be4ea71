#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/types/basic.h"
#include "engine/types/check.h"
#include "engine/types/id_page.h"

namespace perennial {

// A map from job ids to small values: a radix tree of pages, each of which stands for one byte of
// the id and is as large as its content. Where ids are dense, a value costs little more than its
// own size. An id far from all others costs a page of one value and an entry in each page above it,
// whatever the distance. A hash table was rejected because it is rehashed in one step: here an
// insertion moves at most one page on each level.
template <typename T>
class IdMap {
 public:
  IdMap() = default;
  IdMap(const IdMap&) = delete;
  IdMap& operator=(const IdMap&) = delete;
  ~IdMap() {
    if (root_ != nullptr) free_below(root_, levels_);
  }

  // Returns null if `id` is not in the map. The pointer is valid until the next call of a non-const
  // function.
  T* find(JobId id) {
    void** const place = find_place(id >> page_bits);
    return place != nullptr ? static_cast<Leaf*>(*place)->find(id & page_mask) : nullptr;
  }
  const T* find(JobId id) const { return const_cast<IdMap*>(this)->find(id); }

  // The entry with the lowest id that is `from` or above; a null value if there is none. A part of
  // the map without entries is passed over at once.
  struct Entry {
    JobId id = 0;
    T* value = nullptr;
  };
  Entry first_from(JobId from) {
    Entry found;
    const bool reaches_it = root_ != nullptr && reaches(from >> page_bits);
    if (reaches_it) find_first(root_, levels_, 0, from, found);
    return found;
  }

  // The entry with the highest id that is `to` or below, in the same way.
  Entry last_to(JobId to) {
    Entry found;
    if (root_ == nullptr) return found;
    if (!reaches(to >> page_bits)) to = UINT64_MAX >> (64 - page_bits * levels_);
    find_last(root_, levels_, 0, to, found);
    return found;
  }

  struct ConstEntry {
    JobId id = 0;
    const T* value = nullptr;
  };
  ConstEntry first_from(JobId from) const {
    const Entry found = const_cast<IdMap*>(this)->first_from(from);
    return {found.id, found.value};
  }
  ConstEntry last_to(JobId to) const {
    const Entry found = const_cast<IdMap*>(this)->last_to(to);
    return {found.id, found.value};
  }

  // REQUIRES: `id` is not in the map.
  void insert(JobId id, const T& value) {
    void** place = find_place(id >> page_bits);
    if (place == nullptr) place = make_place(id >> page_bits);
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
  // The memory of all pages, in bytes.
  size_t memory_bytes() const { return bytes_; }

 private:
  using Leaf = IdPage<T>;
  using Inner = IdPage<void*>;  // A page of pointers to leaves or inner pages.

  static constexpr unsigned page_bits = 8;
  static constexpr uint64_t page_mask = (1u << page_bits) - 1;
  static constexpr unsigned levels_max = 64 / page_bits;

  // Returns the part of a leaf's number that an inner page of this level indexes. Leaves are level
  // 1.
  static unsigned digit(uint64_t number, unsigned level) {
    return static_cast<unsigned>(number >> page_bits * (level - 2) & page_mask);
  }
  bool reaches(uint64_t number) const { return number >> page_bits * (levels_ - 1) == 0; }

  // Returns the place of the pointer to a leaf; null if there is no such leaf.
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

  // Finds the first entry below a page whose lowest id is `base`. Returns whether there is one.
  static bool find_first(void* page, unsigned level, JobId base, JobId from, Entry& found) {
    const unsigned shift = page_bits * (level - 1);
    unsigned index = from <= base ? 0 : static_cast<unsigned>((from - base) >> shift);
    if (level == 1) {
      const int first = static_cast<Leaf*>(page)->first_from(index);
      if (first == Leaf::nowhere) return false;
      found = {base + static_cast<JobId>(first),
               static_cast<Leaf*>(page)->find(static_cast<unsigned>(first))};
      return true;
    }
    auto* const inner = static_cast<Inner*>(page);
    for (;; ++index) {
      const int next = index > page_mask ? Inner::nowhere : inner->first_from(index);
      if (next == Inner::nowhere) return false;
      index = static_cast<unsigned>(next);
      const JobId below = base + (static_cast<JobId>(index) << shift);
      if (find_first(*inner->find(index), level - 1, below, from, found)) return true;
    }
  }

  // Finds the last entry below such a page, as find_first() does.
  static bool find_last(void* page, unsigned level, JobId base, JobId to, Entry& found) {
    const unsigned shift = page_bits * (level - 1);
    unsigned index = static_cast<unsigned>(std::min<JobId>((to - base) >> shift, page_mask));
    if (level == 1) {
      const int last = static_cast<Leaf*>(page)->last_to(index);
      if (last == Leaf::nowhere) return false;
      found = {base + static_cast<JobId>(last),
               static_cast<Leaf*>(page)->find(static_cast<unsigned>(last))};
      return true;
    }
    auto* const inner = static_cast<Inner*>(page);
    for (;; --index) {
      const int next = inner->last_to(index);
      if (next == Inner::nowhere) return false;
      index = static_cast<unsigned>(next);
      const JobId below = base + (static_cast<JobId>(index) << shift);
      if (find_last(*inner->find(index), level - 1, below, to, found)) return true;
      if (index == 0) return false;
    }
  }

  // Makes the place for a leaf that does not exist, and returns it. The pointer there is null.
  void** make_place(uint64_t number) {
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

  // Called when a leaf has become empty. The latest empty leaf is kept, because the next id is most
  // often inserted there. The empty leaf before it is freed, unless it was filled again.
  void keep_empty(uint64_t number) {
    const uint64_t before = std::exchange(empty_number_, number);
    if (before == number) return;
    void** const place = find_place(before);
    if (place != nullptr && static_cast<Leaf*>(*place)->empty()) erase_leaf(before, place);
  }

  // Frees a leaf, removes its pointer from the page above, and frees each inner page that becomes
  // empty.
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
  unsigned levels_ = 1;  // Includes the level of leaves.
  size_t size_ = 0;
  size_t bytes_ = 0;
  // The leaf that was found last. Neighbouring ids are often looked up one after the other.
  uint64_t last_number_ = 0;
  void** last_place_ = nullptr;
  uint64_t empty_number_ = UINT64_MAX;  // The leaf that became empty last.
};

}  // namespace perennial
