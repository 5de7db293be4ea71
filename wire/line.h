#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "engine/types/extension.h"

namespace perennial::wire {

// protocol.txt: a command line is at most 224 bytes with its CRLF.
inline constexpr size_t line_bytes_max = 224;
// The same limit for the lines of extensions: may_be_long() says which lines these are.
inline constexpr size_t line_long_bytes_max = 32'768;

// Splits a stream into lines that end in CRLF. Any split of the bytes gives the same lines. A CR or
// LF alone is a byte like any other. A line that the input holds completely is not copied. Owns the
// beginning of an incomplete line, at most line_bytes_max bytes, or line_long_bytes_max bytes of a
// line that may be long: the rest of a longer line is dropped as it arrives.
class LineReader {
 public:
  // For commands. `allowed`: the extensions whose lines may be long.
  explicit LineReader(ExtensionSet allowed = {}) : allowed_(allowed) {}
  // For replies, whose lines may all be long: what `with:` adds may have several names.
  static LineReader of_replies();

  enum class Got : unsigned char { Nothing, Line, TooLong };

  // Removes bytes from the front of `rest`, up to the end of a line, or all of them. TooLong means
  // the end of a line that was too long and was dropped completely.
  Got take(std::string_view& rest);

  // The last complete line, without its CRLF. Valid until the next call of take(), while the bytes
  // of the last call are valid.
  std::string_view line() const { return line_; }

  // What has arrived of a line that is not complete, when take() has returned Nothing.
  std::string_view beginning() const { return held_; }

  // The first bytes of the line that was dropped last, enough to recognise a header.
  std::string_view dropped_head() const { return dropped_head_; }

  // Whether the incomplete line is already too long.
  bool too_long() const { return too_long_; }
  size_t held_bytes() const { return held_.capacity(); }

  // Overwrites what is held. REQUIRES: the last line is complete and used, or no more is read.
  void wipe();

 private:
  Got take_more(std::string_view& rest);
  Got drop(std::string_view& rest);
  void begin_drop(std::string_view line);
  bool becomes_long(std::string_view head);
  void forget();

  ExtensionSet allowed_;
  size_t bytes_max_at_first_ = line_bytes_max;  // Of a line, until it becomes long.
  size_t bytes_max_ = line_bytes_max;           // Of the line that is read now.

  std::string held_;  // The beginning of a line, without a CRLF.
  std::string dropped_head_;
  std::string_view line_;  // A view of held_ or of the caller's bytes.
  // held_ is the last complete line. The next call of take() clears it.
  bool complete_ = false;
  bool too_long_ = false;
  bool after_cr_ = false;  // The last byte dropped was a CR.
};

}  // namespace perennial::wire
