#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/disk/hash.h"

namespace perennial::tool {

// A stream of bytes to a file, a pipe or a terminal, with large writes and a hash of all bytes. It
// keeps the first failure and writes nothing after it, so that callers may check at the end. A
// caller that writes for a long time also checks failed(). Does not own the descriptor.
class Output {
 public:
  explicit Output(int fd) : fd_(fd) { buffer_.reserve(piece_bytes); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void add(std::string_view bytes) {
    if (buffer_.size() + bytes.size() > piece_bytes) return add_large(bytes);
    buffer_.append(bytes);
  }
  void add_number(uint64_t number);
  // Pads with leading or trailing spaces to `width` columns. Counts bytes, which is correct for
  // ASCII.
  void add_right(std::string_view text, size_t width);
  void add_left(std::string_view text, size_t width);

  bool failed() const { return !status_.ok(); }
  // The hash of every byte added so far.
  std::string hash();
  // Writes the rest of the buffer. Io: a write failed.
  Status finish();

 private:
  static constexpr size_t piece_bytes = 64 << 10;
  void add_large(std::string_view bytes);
  void write_out(std::string_view bytes);

  const int fd_;
  std::string buffer_;
  store::Hasher hasher_;
  Status status_;
};

// Ignores SIGPIPE, so that a closed pipe is a failed write with a message.
void ignore_closed_pipes();

}  // namespace perennial::tool
