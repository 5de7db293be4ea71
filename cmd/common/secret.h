#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

// Memory that held a secret, such as a token: it is overwritten before others get it.
namespace perennial::common {

// Overwrites the bytes, also where a compiler would leave that out.
void wipe(std::span<char> bytes);

// Overwrites all memory that it gives back.
template <typename T>
struct WipingAllocator {
  using value_type = T;
  using is_always_equal = std::true_type;

  WipingAllocator() = default;
  template <typename Other>
  WipingAllocator(const WipingAllocator<Other>& /*other*/) {}  // NOLINT: allocators convert.

  T* allocate(size_t count) { return std::allocator<T>().allocate(count); }
  void deallocate(T* memory, size_t count) {
    wipe({reinterpret_cast<char*>(memory), count * sizeof(T)});
    std::allocator<T>().deallocate(memory, count);
  }
};
template <typename T, typename Other>
bool operator==(const WipingAllocator<T>& /*one*/, const WipingAllocator<Other>& /*other*/) {
  return true;
}

// Up to 15 bytes are a part of the object, and are not overwritten.
using SecretText = std::basic_string<char, std::char_traits<char>, WipingAllocator<char>>;

}  // namespace perennial::common
