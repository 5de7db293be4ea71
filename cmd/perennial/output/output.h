#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/disk/hash.h"

namespace perennial::tool {

// A stream of bytes to a file, a pipe or a terminal, in large pieces, with a hash of all of it. The
// first failure is kept, and nothing is written after it, so that callers may look at the end; one
// that writes for long looks at failed(), too. Does not own the descriptor.
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
  // Spaces in front, or behind, to fill `width` columns. Counts bytes, which is right for ASCII.
  void add_right(std::string_view text, size_t width);
  void add_left(std::string_view text, size_t width);

  bool failed() const { return !status_.ok(); }
  // Of every byte added so far.
  std::string hash();
  // Writes what is left. Io: something could not be written.
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

// A result is told to whoever reads it, not to a signal: with this a closed pipe is a failed write.
void ignore_closed_pipes();

}  // namespace perennial::tool
