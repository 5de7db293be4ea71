#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace perennial {

// The bytes of one job's body. Moves and never copies them, and grows without touching memory ahead
// of what has arrived: a client that announces a gigabyte and sends a byte costs a page. Several
// may share the same bytes, which live as long as one of them; they may be on different threads.
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
  // Bytes of memory that were taken for it, by all that share them together.
  size_t capacity() const { return block_ != nullptr ? block_->capacity : 0; }

  // The same bytes once more. From then on none of them grows.
  Body share() const;

  // Adds bytes at the end. `expected` is the size that the body is known to reach; room is taken
  // for all of it if that is little, and otherwise by doubling, up to it. REQUIRES: size() +
  // bytes.size() <= expected, and its bytes are not shared.
  void append(std::span<const char> bytes, size_t expected);

 private:
  // In front of the bytes. Small ones are of malloc. A great one is a mapping of its own, of huge
  // pages where the system has them: it grows by moving pages, and goes back to the system at once
  // and quickly. (A gigabyte of small pages takes a tenth of a second to give back.)
  struct alignas(16) Block {
    uint32_t owners;  // Through std::atomic_ref.
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
