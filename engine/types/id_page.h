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
// number: few lie packed behind their indexes, and many each at its own place. A node of IdMap.
template <typename T>
class IdPage {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 8);

 public:
  // Each of these returns where the page is now: growing and shrinking move it. `bytes` follows the
  // memory of all pages. One that is not there yet is null; one that has become empty stays.
  // REQUIRES: `index` is not in the page.
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
  // Null: it is not in the page. Valid until the page is changed.
  T* find(unsigned index) {
    if (is_whole()) return is_used(index) ? whole_values() + index : nullptr;
    const int place = place_of(index);
    return place != nowhere ? packed_values() + place : nullptr;
  }
  template <typename Visit>
  void for_each(Visit visit) {
    for (unsigned index = 0; index < places; ++index) {
      if (T* const value = find(index)) visit(*value);
    }
  }

 private:
  static constexpr unsigned places = 256;
  static constexpr int nowhere = -1;
  // Of each size. Header and indexes fill whole words, but for the first.
  static constexpr std::array<int, 6> capacities = {1, 4, 12, 28, 60, places};
  static constexpr uint8_t whole = capacities.size() - 1;
  static constexpr size_t whole_header_bytes = 8 + places / 8;

  static size_t packed_header_bytes(uint8_t size) {
    return (4 + static_cast<size_t>(capacities[size]) + 7) / 8 * 8;
  }
  static size_t bytes_of(uint8_t size) {
    const size_t header_bytes = size == whole ? whole_header_bytes : packed_header_bytes(size);
    return header_bytes + static_cast<size_t>(capacities[size]) * sizeof(T);
  }

  // The same values in a page of the next size, or of the one before.
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
  // Of a packed page.
  int place_of(unsigned index) {
    constexpr int few = 12;  // Not worth a call.
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

  // ---- Behind this: of a packed page its indexes, one byte each, then its values; of a whole one
  // a bit for each that is used, then its values.
  char* at(size_t offset) { return reinterpret_cast<char*>(this) + offset; }
  uint8_t* indexes() { return reinterpret_cast<uint8_t*>(at(4)); }
  T* packed_values() { return reinterpret_cast<T*>(at(packed_header_bytes(size_))); }
  uint8_t* used() { return reinterpret_cast<uint8_t*>(at(8)); }
  T* whole_values() { return reinterpret_cast<T*>(at(whole_header_bytes)); }

  uint16_t count_;
  uint8_t size_;  // Which of `capacities` it has.
};

}  // namespace perennial
