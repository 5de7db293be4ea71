#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace perennial {

// The bytes of one job's body. Owns them, moves and never copies itself, and grows without touching
// memory ahead of what has arrived: a client that announces a gigabyte and sends a byte costs a
// page.
class Body {
 public:
  Body() = default;
  explicit Body(std::string_view bytes) { append({bytes.data(), bytes.size()}, bytes.size()); }
  Body(Body&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Body& operator=(Body&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  ~Body();

  std::string_view view() const { return {data_, size_}; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }

  // Adds bytes at the end. `expected` is the size that the body is known to reach; room is taken
  // for all of it if that is little, and otherwise by doubling, up to it. REQUIRES: size() +
  // bytes.size() <= expected.
  void append(std::span<const char> bytes, size_t expected);

 private:
  char* data_ = nullptr;  // From realloc, which moves large blocks by their pages, not their bytes.
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace perennial
