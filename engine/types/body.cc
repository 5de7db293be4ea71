#include "engine/types/body.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "engine/types/check.h"

namespace perennial {
namespace {

// Up to this a body gets its whole size at once.
constexpr size_t whole_bytes_max = size_t{64} << 10;

size_t grown(size_t needed, size_t capacity, size_t expected) {
  if (expected <= whole_bytes_max) return expected;
  return std::min(expected, std::max({needed, 2 * capacity, whole_bytes_max}));
}

}  // namespace

Body::~Body() {
  std::free(data_);
}

void Body::append(std::span<const char> bytes, size_t expected) {
  const size_t needed = size_ + bytes.size();
  CHECK(needed <= expected);
  if (bytes.empty()) return;
  if (needed > capacity_) {
    const size_t capacity = grown(needed, capacity_, expected);
    char* const data = static_cast<char*>(std::realloc(data_, capacity));
    CHECK(data != nullptr);
    data_ = data;
    capacity_ = capacity;
  }
  std::memcpy(data_ + size_, bytes.data(), bytes.size());
  size_ = needed;
}

}  // namespace perennial
