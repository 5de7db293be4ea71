#include "engine/types/body.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#include "engine/types/check.h"

namespace perennial {
namespace {

constexpr size_t kib = 1 << 10;
constexpr size_t mib = 1 << 20;

// A body of at most this size gets its whole capacity at once.
constexpr size_t whole_bytes_max = 64 * kib;
// A capacity from here on is a separate mapping, and from the second limit on a mapping of huge
// pages.
constexpr size_t mapped_bytes_min = mib;
constexpr size_t huge_pages_bytes_min = 4 * mib;

size_t grown(size_t needed, size_t capacity, size_t expected) {
  if (expected <= whole_bytes_max) return expected;
  return std::min(expected, std::max({needed, 2 * capacity, whole_bytes_max}));
}

}  // namespace

Body::~Body() {
  if (block_ == nullptr) return;
  if (std::atomic_ref(block_->owners).fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  if (block_->mapped) {
    CHECK(::munmap(block_, sizeof(Block) + block_->capacity) == 0);
  } else {
    std::free(block_);
  }
}

Body Body::share() const {
  Body other;
  if (block_ != nullptr) std::atomic_ref(block_->owners).fetch_add(1, std::memory_order_relaxed);
  other.block_ = block_;
  other.size_ = size_;
  return other;
}

bool Body::shared() const {
  return block_ != nullptr && std::atomic_ref(block_->owners).load(std::memory_order_acquire) > 1;
}

void Body::append(std::span<const char> bytes, size_t expected) {
  const size_t needed = size_ + bytes.size();
  CHECK(needed <= expected);
  if (bytes.empty()) return;
  CHECK(!shared());
  if (needed > capacity()) grow(grown(needed, capacity(), expected));
  std::memcpy(data() + size_, bytes.data(), bytes.size());
  size_ = needed;
}

void Body::grow(size_t capacity) {
  const bool mapped = capacity >= mapped_bytes_min;
  void* const memory = mapped ? map(capacity) : std::realloc(block_, sizeof(Block) + capacity);
  CHECK(memory != nullptr);
  block_ = new (memory) Block{.owners = 1, .mapped = mapped, .capacity = capacity};
}

// Maps memory for a Block and `capacity` bytes behind it, and moves the present bytes there.
void* Body::map(size_t capacity) {
  const size_t bytes = sizeof(Block) + capacity;
  void* memory = nullptr;
  if (block_ != nullptr && block_->mapped) {
    memory = ::mremap(block_, sizeof(Block) + block_->capacity, bytes, MREMAP_MAYMOVE);
    CHECK(memory != MAP_FAILED);
  } else {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    if (size_ > 0) std::memcpy(static_cast<char*>(memory) + sizeof(Block), data(), size_);
    std::free(block_);
  }
  // The kernel may refuse huge pages; the body then has small ones.
  if (capacity >= huge_pages_bytes_min) (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  return memory;
}

}  // namespace perennial
