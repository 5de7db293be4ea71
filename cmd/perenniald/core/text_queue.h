#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "engine/types/check.h"

namespace perennial::core {

// Bytes that are appended at the end and consumed from the front, all of them always in one piece.
//
// Invariant: what has been consumed and is still in memory is less than what has not, or less than
// cut_bytes_min. So memory follows what is held, also when it never becomes empty, and each byte is
// moved at most once on average.
class TextQueue {
 public:
  TextQueue() = default;
  explicit TextQueue(std::string&& text) : text_(std::move(text)) {}

  // Valid until the next call of anything that is not const.
  std::string_view view() const { return std::string_view(text_).substr(consumed_); }
  size_t size() const { return text_.size() - consumed_; }
  bool empty() const { return size() == 0; }
  // Bytes of memory that were taken for it.
  size_t capacity() const { return text_.capacity(); }

  void append(std::string_view bytes) { text_.append(bytes); }
  // REQUIRES: bytes <= size().
  void consume(size_t bytes) {
    CHECK(bytes <= size());
    consumed_ += bytes;
    if (consumed_ >= cut_bytes_min && consumed_ >= size()) return cut();
    if (empty()) clear();
  }
  void swap(TextQueue& other) {
    text_.swap(other.text_);
    std::swap(consumed_, other.consumed_);
  }

 private:
  static constexpr size_t cut_bytes_min = 4 << 10;
  // What a queue may keep although it holds much less.
  static constexpr size_t kept_bytes = 64 << 10;

  void clear() {
    text_.clear();
    consumed_ = 0;
  }
  void cut() {
    if (text_.capacity() > kept_bytes && size() < text_.capacity() / 4) {
      text_ = std::string(view());
    } else {
      text_.erase(0, consumed_);
    }
    consumed_ = 0;
  }

  std::string text_;
  size_t consumed_ = 0;  // The first of them, which are not held any more.
};

}  // namespace perennial::core
