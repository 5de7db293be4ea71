#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "engine/types/check.h"

namespace perennial {

// Up to 256 small values by an index of 8 bits, in one block of memory whose size follows their
// number. Few values are packed behind their indexes; many have a fixed place each. A node of
// IdMap.
template <typename T>
class IdPage {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);

 public:
  // insert() and erase() return the present address of the page, because growing and shrinking move
  // it. `bytes` is updated by the change in memory. A null page is one that does not exist yet. A
  // page that has become empty is not freed. REQUIRES: `index` is not in the page.
  static IdPage* insert(IdPage* page, unsigned index, const T& value, size_t& bytes) {
    CHECK(page == nullptr || page->find(index) == nullptr);
    if (page == nullptr || page->count_ == capacities[page->size_]) page = resize(page, 1, bytes);
    page->add(index, value);
    return page;
  }
  // REQUIRES: `index` is in the page.
  static IdPage* erase(IdPage* page, unsigned index, size_t& bytes) {
    page->remove(index);
    const bool has_few = page->size_ > 1 && page->count_ <= capacities[page->size_ - 1] / 2;
    return has_few ? resize(page, -1, bytes) : page;
  }
  static void free(IdPage* page, size_t& bytes) {
    bytes -= bytes_of(page->size_);
    std::free(page);
  }

  bool empty() const { return count_ == 0; }
  // Returns null if `index` is not in the page. The pointer is valid until the page is changed.
  T* find(unsigned index) {
    if (is_whole()) return is_used(index) ? whole_values() + index : nullptr;
    const int place = place_of(index);
    return place != nowhere ? packed_values() + place : nullptr;
  }
  // Returns the lowest index in the page that is `from` or above; `nowhere` if there is none.
  int first_from(unsigned from) {
    if (!is_whole()) {
      int first = nowhere;
      for (int place = 0; place < count_; ++place) {
        const int index = indexes()[place];
        if (index >= static_cast<int>(from) && (first == nowhere || index < first)) first = index;
      }
      return first;
    }
    for (unsigned index = from; index < places; ++index) {
      if (is_used(index)) return static_cast<int>(index);
    }
    return nowhere;
  }
  // Returns the highest index in the page that is `to` or below; `nowhere` if there is none.
  int last_to(unsigned to) {
    if (!is_whole()) {
      int last = nowhere;
      for (int place = 0; place < count_; ++place) {
        const int index = indexes()[place];
        if (index <= static_cast<int>(to) && index > last) last = index;
      }
      return last;
    }
    for (int index = static_cast<int>(to); index >= 0; --index) {
      if (is_used(static_cast<unsigned>(index))) return index;
    }
    return nowhere;
  }
  template <typename Visit>
  void for_each(Visit visit) {
    for (unsigned index = 0; index < places; ++index) {
      if (T* const value = find(index)) visit(*value);
    }
  }

  static constexpr int nowhere = -1;

 private:
  static constexpr unsigned places = 256;
  // The capacity of each size. Except for the first, they make header and indexes fill whole words.
  static constexpr std::array<int, 6> capacities = {1, 4, 12, 28, 60, places};
  static constexpr uint8_t whole = capacities.size() - 1;
  static constexpr size_t whole_header_bytes = 8 + places / 8;

  static size_t packed_header_bytes(uint8_t size) {
    return (4 + static_cast<size_t>(capacities[size]) + 7) / 8 * 8;
  }
  static size_t bytes_of(uint8_t size) {
    const size_t header_bytes = size == whole ? whole_header_bytes : packed_header_bytes(size);
    constexpr size_t value_bytes = sizeof(T);  // NOLINT: T may be a pointer.
    return header_bytes + capacities[size] * value_bytes;
  }

  // Moves the values to a page of the next larger or the next smaller size.
  static IdPage* resize(IdPage* page, int by, size_t& bytes) {
    const uint8_t size = page == nullptr ? 0 : static_cast<uint8_t>(page->size_ + by);
    void* const memory = std::malloc(bytes_of(size));
    CHECK(memory != nullptr);
    std::memset(memory, 0, std::min(bytes_of(size), whole_header_bytes));
    auto* const resized = static_cast<IdPage*>(memory);
    resized->size_ = size;
    bytes += bytes_of(size);
    if (page == nullptr) return resized;
    page->move_to(*resized);
    free(page, bytes);
    return resized;
  }
  void move_to(IdPage& other) {
    if (!is_whole()) {
      for (int i = 0; i < count_; ++i) other.add(indexes()[i], packed_values()[i]);
      return;
    }
    for (unsigned index = 0; index < places; ++index) {
      if (is_used(index)) other.add(index, whole_values()[index]);
    }
  }

  void add(unsigned index, const T& value) {
    if (is_whole()) {
      used()[index / 8] |= static_cast<uint8_t>(1u << index % 8);
      whole_values()[index] = value;
    } else {
      indexes()[count_] = static_cast<uint8_t>(index);
      packed_values()[count_] = value;
    }
    ++count_;
  }
  void remove(unsigned index) {
    if (is_whole()) {
      CHECK(is_used(index));
      used()[index / 8] &= static_cast<uint8_t>(~(1u << index % 8));
      --count_;
      return;
    }
    const int place = place_of(index);
    CHECK(place != nowhere);
    --count_;
    indexes()[place] = indexes()[count_];
    packed_values()[place] = packed_values()[count_];
  }
  // REQUIRES: the page is packed.
  int place_of(unsigned index) {
    constexpr int few = 12;  // Up to this many a loop is faster than a call of memchr.
    if (count_ > few) {
      const void* const found = std::memchr(indexes(), static_cast<int>(index), count_);
      if (found == nullptr) return nowhere;
      return static_cast<int>(static_cast<const uint8_t*>(found) - indexes());
    }
    for (int place = 0; place < count_; ++place) {
      if (indexes()[place] == index) return place;
    }
    return nowhere;
  }

  bool is_whole() const { return size_ == whole; }
  bool is_used(unsigned index) { return (used()[index / 8] >> index % 8 & 1) != 0; }

  // ---- The memory behind the object. A packed page has its indexes, one byte each, then its
  // values. A whole page has a bit for each index that is used, then its values.
  char* at(size_t offset) { return reinterpret_cast<char*>(this) + offset; }
  uint8_t* indexes() { return reinterpret_cast<uint8_t*>(at(4)); }
  T* packed_values() { return reinterpret_cast<T*>(at(packed_header_bytes(size_))); }
  uint8_t* used() { return reinterpret_cast<uint8_t*>(at(8)); }
  T* whole_values() { return reinterpret_cast<T*>(at(whole_header_bytes)); }

  uint16_t count_;
  uint8_t size_;  // The index in `capacities`.
};

}  // namespace perennial
