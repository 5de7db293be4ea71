#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/disk/hash.h"

namespace perennial::tool {

// Reads the lines of a file or a pipe, of any length, and hashes everything before the last line.
// Holds one line. Owns the descriptor unless it is standard input.
class DumpLines {
 public:
  // "-" is standard input. NotFound, Io: the file cannot be opened.
  static Result<std::unique_ptr<DumpLines>> open(const std::string& path);
  ~DumpLines();
  DumpLines(const DumpLines&) = delete;
  DumpLines& operator=(const DumpLines&) = delete;

  // Returns at most this many of the first bytes without consuming them, which is enough to
  // recognise another format.
  Result<std::string_view> peek(size_t bytes);
  // Reads the next line without its line feed. It is valid until the next call. Returns false at
  // the end of the file.
  Result<bool> next(std::string_view& line);
  // The number of the last line, from 1.
  uint64_t number() const { return number_; }
  // The hash of every byte before the last line.
  std::string hash_before() const { return hasher_.hex(); }

 private:
  explicit DumpLines(int fd) : fd_(fd) {}
  // Reads more. False at the end of the file.
  Result<bool> fill();

  const int fd_;
  std::string buffer_;
  size_t begin_ = 0;       // The offset of the next line in the buffer.
  size_t line_bytes_ = 0;  // The length of the last line with its end, which is just before begin_.
  uint64_t number_ = 0;
  store::Hasher hasher_;
};

}  // namespace perennial::tool
