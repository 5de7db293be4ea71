#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "engine/types/check.h"

namespace perennial::core {

// Bytes that are appended at the end and consumed from the front. They are always contiguous.
//
// Invariant: The consumed bytes that are still in memory are fewer than the bytes held, or fewer
// than drop_bytes_min. So memory follows what is held, even if the queue is never empty, and each
// byte is moved at most once on average. A ring buffer would move no byte, but its bytes are not
// always contiguous, as a write needs them.
class TextQueue {
 public:
  TextQueue() = default;
  explicit TextQueue(std::string&& text) : text_(std::move(text)) {}

  // Valid until the next call of a non-const function.
  std::string_view view() const { return std::string_view(text_).substr(consumed_); }
  size_t size() const { return text_.size() - consumed_; }
  bool empty() const { return size() == 0; }
  // Bytes of memory that it has allocated.
  size_t capacity() const { return text_.capacity(); }

  void append(std::string_view bytes) { text_.append(bytes); }
  // REQUIRES: bytes <= size().
  void consume(size_t bytes) {
    CHECK(bytes <= size());
    consumed_ += bytes;
    if (consumed_ >= drop_bytes_min && consumed_ >= size()) return drop_consumed();
    if (empty()) clear();
  }
  void swap(TextQueue& other) {
    text_.swap(other.text_);
    std::swap(consumed_, other.consumed_);
  }

 private:
  static constexpr size_t drop_bytes_min = 4 << 10;
  // The capacity that a queue may keep although it holds much less.
  static constexpr size_t kept_bytes = 64 << 10;

  void clear() {
    text_.clear();
    consumed_ = 0;
  }
  void drop_consumed() {
    if (text_.capacity() > kept_bytes && size() < text_.capacity() / 4) {
      text_ = std::string(view());
    } else {
      text_.erase(0, consumed_);
    }
    consumed_ = 0;
  }

  std::string text_;
  size_t consumed_ = 0;  // Bytes at the front of text_ that are no longer held.
};

}  // namespace perennial::core
