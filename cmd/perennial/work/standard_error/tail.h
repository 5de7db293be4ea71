#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perennial::tool::work {

// The text without a UTF-8 character at its end that is not complete.
std::string_view without_partial_end(std::string_view text);

// Keeps the end of a text that arrives in pieces, of any length and of any bytes. Pure.
class Tail {
 public:
  static constexpr size_t bytes_max = 2048;

  void add(std::string_view piece);
  // The last bytes_max bytes, or less: without the line feeds at the end, and without parts of a
  // UTF-8 character. Where something is missing before them they begin with a line, if a line
  // begins in the first half of them.
  std::string text() const;

 private:
  // One byte more than is shown: whether a line begins there is seen at the byte before.
  std::string kept_;
};

}  // namespace perennial::tool::work
