#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/disk/hash.h"

namespace perennial::tool {

// The lines of a file or a pipe, however long they are, with a hash of what came before the last
// one. Holds one line. Owns the descriptor, unless it is standard input.
class DumpLines {
 public:
  // "-" is standard input. NotFound, Io: it cannot be opened.
  static Result<std::unique_ptr<DumpLines>> open(const std::string& path);
  ~DumpLines();
  DumpLines(const DumpLines&) = delete;
  DumpLines& operator=(const DumpLines&) = delete;

  // The first bytes, at most so many, without taking them: enough to know another kind of file.
  Result<std::string_view> peek(size_t bytes);
  // Takes the next line, without its end; valid until the next call. False at the end of the file.
  Result<bool> next(std::string_view& line);
  // Of the last line, from 1.
  uint64_t number() const { return number_; }
  // Whether the last line had an end.
  bool is_ended() const { return is_ended_; }
  // Of every byte before the last line.
  std::string hash_before() const { return hasher_.hex(); }

 private:
  explicit DumpLines(int fd) : fd_(fd) {}
  // Reads more. False at the end of the file.
  Result<bool> fill();

  const int fd_;
  std::string buffer_;
  size_t begin_ = 0;       // Of the next line, in the buffer.
  size_t line_bytes_ = 0;  // Of the last line, with its end: just before begin_.
  uint64_t number_ = 0;
  bool is_ended_ = true;
  store::Hasher hasher_;
};

}  // namespace perennial::tool
