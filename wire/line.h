#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace perennial::wire {

// protocol.txt: a command line is at most 224 bytes with its CRLF.
inline constexpr size_t line_bytes_max = 224;

// Cuts a stream into lines that end in CRLF, however its bytes are split. A CR or LF alone is a
// byte like any other. A line that lies whole in the input is not copied. Owns the beginning of a
// line that is incomplete, never more than line_bytes_max bytes: what a longer line has besides is
// dropped as it arrives.
class LineReader {
 public:
  enum class Got : unsigned char { Nothing, Line, TooLong };

  // Takes bytes off the front of `rest`, up to the end of a line, or all of them. TooLong is the
  // end of an over-long line, all of which has been dropped.
  Got take(std::string_view& rest);

  // The last line that was got, without its CRLF. Valid until the next call of take and while the
  // bytes given to the last one are.
  std::string_view line() const { return line_; }

  // The first bytes of the line that was dropped last, enough to know a header by.
  std::string_view dropped_head() const { return dropped_head_; }

  // Whether the line that is incomplete is already known to be too long.
  bool too_long() const { return too_long_; }
  size_t held_bytes() const { return held_.capacity(); }

 private:
  Got take_more(std::string_view& rest);
  Got drop(std::string_view& rest);
  void begin_drop(std::string_view line);

  std::string held_;  // The beginning of a line, without a CRLF.
  std::string dropped_head_;
  std::string_view line_;  // Into held_ or the caller's bytes.
  bool complete_ = false;  // held_ is the line that was got last; it goes at the next call.
  bool too_long_ = false;
  bool after_cr_ = false;  // The last byte dropped was a CR.
};

}  // namespace perennial::wire
