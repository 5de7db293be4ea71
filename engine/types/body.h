#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace perennial {

// The bytes of one job's body. A Body is moved and never copied. It grows without touching memory
// ahead of what has arrived: a client that announces a gigabyte and sends a byte costs a page.
// Several Body objects may share the same bytes, also on different threads; the bytes live as long
// as one of them.
class Body {
 public:
  Body() = default;
  explicit Body(std::string_view bytes) { append({bytes.data(), bytes.size()}, bytes.size()); }
  Body(Body&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Body& operator=(Body&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Body();

  std::string_view view() const { return {data(), size_}; }
  size_t size() const { return size_; }
  // The bytes of memory that are allocated, counted once for all that share them.
  size_t capacity() const { return block_ != nullptr ? block_->capacity : 0; }

  // Returns another Body with the same bytes. While they are shared, neither may grow.
  Body share() const;

  // Appends bytes. `expected` is the size that the body is known to reach. The capacity is the
  // whole of a small `expected`, and otherwise doubles up to it. REQUIRES: size() + bytes.size() <=
  // expected, and the bytes are not shared.
  void append(std::span<const char> bytes, size_t expected);

 private:
  // The header in front of the bytes. A small body is allocated by malloc. A large body is a
  // separate mapping, of huge pages where the system has them: growing it moves pages instead of
  // bytes, and freeing it returns the memory to the system at once. Huge pages are used because
  // unmapping a gigabyte of small pages takes 100 ms.
  struct alignas(16) Block {
    uint32_t owners;  // Accessed through std::atomic_ref.
    bool mapped;
    size_t capacity;
  };

  char* data() const { return block_ != nullptr ? reinterpret_cast<char*>(block_ + 1) : nullptr; }
  bool shared() const;
  void grow(size_t capacity);
  void* map(size_t capacity);

  Block* block_ = nullptr;
  size_t size_ = 0;
};

}  // namespace perennial
