#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/types/check.h"

namespace perennial::engine {

inline constexpr uint32_t not_in_heap = UINT32_MAX;

// A sequence that grows in small steps: past the first chunk no element is copied. The first chunk
// grows by doubling, so that ten thousand short sequences stay small. A std::vector was rejected,
// because its growth copies all elements and blocks the loop. A full chunk of a heap is so large
// that the allocator returns it to the kernel when it is freed (job_pool.h).
template <typename T>
class ChunkedVector {
 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return chunks_[i >> chunk_bits][i & chunk_mask]; }
  const T& operator[](size_t i) const { return chunks_[i >> chunk_bits][i & chunk_mask]; }

  void push_back(const T& value) {
    if (size_ == capacity_) grow();
    (*this)[size_++] = value;
  }

  void pop_back() {
    --size_;
    if (size_ == 0 && capacity_ > kept_capacity) return release(0);
    // One empty chunk is kept, so that a size that goes up and down across a chunk's border does
    // not allocate.
    const size_t needed = (size_ + chunk_mask) >> chunk_bits;
    if (chunks_.size() > needed + 1) release(needed + 1);
  }

 private:
  static constexpr unsigned chunk_bits = 13;
  static constexpr size_t chunk_size = size_t{1} << chunk_bits;
  static constexpr size_t chunk_mask = chunk_size - 1;
  static constexpr size_t first_capacity = 4;
  // The capacity that an empty sequence keeps, so that one that is filled and emptied in turn does
  // not allocate.
  static constexpr size_t kept_capacity = 64;

  void grow() {
    if (capacity_ >= chunk_size) {
      chunks_.push_back(std::make_unique_for_overwrite<T[]>(chunk_size));
      capacity_ += chunk_size;
      return;
    }
    const size_t capacity = std::max(first_capacity, 2 * capacity_);
    auto chunk = std::make_unique_for_overwrite<T[]>(capacity);
    if (capacity_ > 0) std::copy_n(chunks_[0].get(), size_, chunk.get());
    chunks_.clear();
    chunks_.push_back(std::move(chunk));
    capacity_ = capacity;
  }

  void release(size_t chunks) {
    chunks_.resize(chunks);
    capacity_ = chunks * chunk_size;
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// A heap of pointers with the smallest (key, tie) on top. Each item stores its place in the member
// that `Index` names, so that removing or updating any item takes logarithmic time. The heap does
// not own its items. A node has four children, which halves the levels of a binary heap; the
// children of a node are adjacent in memory.
template <typename T, uint32_t T::*Index>
class IndexedHeap {
 public:
  struct Entry {
    uint64_t key = 0;
    uint64_t tie = 0;
    T* item = nullptr;

    bool before(const Entry& other) const {
      return key != other.key ? key < other.key : tie < other.tie;
    }
  };

  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  // REQUIRES: !empty().
  const Entry& top() const { return entries_[0]; }
  // The entry that is cheapest to remove. REQUIRES: !empty().
  const Entry& last() const { return entries_[size() - 1]; }
  // Visits the items in no particular order.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (size_t i = 0; i < size(); ++i) visit(*entries_[i].item);
  }
  // The item at a place below size(), in no particular order.
  const T& at(size_t place) const { return *entries_[place].item; }
  bool holds(const T& item) const {
    return item.*Index < size() && entries_[item.*Index].item == &item;
  }

  // REQUIRES: the item is in no heap through this member.
  void push(uint64_t key, uint64_t tie, T& item) {
    CHECK(item.*Index == not_in_heap);
    entries_.push_back({key, tie, &item});
    item.*Index = static_cast<uint32_t>(size() - 1);
    sift_up(size() - 1);
  }

  // REQUIRES: holds(item).
  void remove(T& item) {
    CHECK(holds(item));
    const size_t hole = item.*Index;
    item.*Index = not_in_heap;
    const Entry last = entries_[size() - 1];
    entries_.pop_back();
    if (last.item == &item) return;
    place(hole, last);
    sift(hole);
  }

  // REQUIRES: holds(item).
  void update(uint64_t key, uint64_t tie, T& item) {
    CHECK(holds(item));
    entries_[item.*Index].key = key;
    entries_[item.*Index].tie = tie;
    sift(item.*Index);
  }

  // Checks that every entry is in its place. For Engine::check().
  void check() const {
    for (size_t i = 0; i < size(); ++i) {
      CHECK(entries_[i].item->*Index == i);
      CHECK(i == 0 || !entries_[i].before(entries_[(i - 1) / 4]));
    }
  }

 private:
  void place(size_t i, const Entry& entry) {
    entries_[i] = entry;
    entry.item->*Index = static_cast<uint32_t>(i);
  }

  void sift(size_t i) {
    if (i > 0 && entries_[i].before(entries_[(i - 1) / 4])) return sift_up(i);
    sift_down(i);
  }

  void sift_up(size_t i) {
    const Entry entry = entries_[i];
    while (i > 0 && entry.before(entries_[(i - 1) / 4])) {
      place(i, entries_[(i - 1) / 4]);
      i = (i - 1) / 4;
    }
    place(i, entry);
  }

  void sift_down(size_t i) {
    const Entry entry = entries_[i];
    for (;;) {
      const size_t first = 4 * i + 1;
      if (first >= size()) break;
      size_t least = first;
      for (size_t child = first + 1; child < std::min(first + 4, size()); ++child) {
        if (entries_[child].before(entries_[least])) least = child;
      }
      if (!entries_[least].before(entry)) break;
      place(i, entries_[least]);
      i = least;
    }
    place(i, entry);
  }

  ChunkedVector<Entry> entries_;
};

}  // namespace perennial::engine
