#include "wire/line.h"

#include <algorithm>

#include <string.h>

#include "wire/command_line.h"

namespace perennial::wire {
namespace {

constexpr size_t npos = std::string_view::npos;

// Returns the position of the first CRLF at or after `from`, or npos.
size_t find_crlf(std::string_view text, size_t from) {
  for (size_t at = text.find('\r', from); at != npos; at = text.find('\r', at + 1)) {
    if (at + 1 < text.size() && text[at + 1] == '\n') return at;
  }
  return npos;
}

}  // namespace

LineReader LineReader::of_replies() {
  LineReader reader;
  reader.bytes_max_at_first_ = line_long_bytes_max;
  return reader;
}

LineReader::Got LineReader::take(std::string_view& rest) {
  if (complete_) forget();
  complete_ = false;
  if (too_long_) return drop(rest);
  if (!held_.empty()) return take_more(rest);

  bytes_max_ = bytes_max_at_first_;
  std::string_view window = rest.substr(0, bytes_max_);
  size_t crlf = find_crlf(window, 0);
  if (crlf == npos && becomes_long(window)) {
    window = rest.substr(0, bytes_max_);
    crlf = find_crlf(window, line_bytes_max - 1);  // The CR may be the last byte before.
  }
  if (crlf != npos) {
    line_ = window.substr(0, crlf);
    rest.remove_prefix(crlf + 2);
    return Got::Line;
  }
  rest.remove_prefix(window.size());
  if (window.size() < bytes_max_) {
    held_.reserve(line_bytes_max);  // No copy of a token is left behind when it grows.
    held_.assign(window);
    return Got::Nothing;
  }
  begin_drop(window);
  return drop(rest);
}

LineReader::Got LineReader::take_more(std::string_view& rest) {
  const size_t before = held_.size();
  held_.append(rest.substr(0, bytes_max_ - before));
  size_t crlf = find_crlf(held_, before - 1);  // The CR may have arrived earlier.
  if (crlf == npos && becomes_long(held_)) {
    held_.append(rest.substr(line_bytes_max - before, bytes_max_ - line_bytes_max));
    crlf = find_crlf(held_, line_bytes_max - 1);
  }
  if (crlf != npos) {
    rest.remove_prefix(crlf + 2 - before);
    line_ = std::string_view(held_).substr(0, crlf);
    complete_ = true;
    return Got::Line;
  }
  rest.remove_prefix(held_.size() - before);
  if (held_.size() < bytes_max_) return Got::Nothing;
  begin_drop(held_);
  return drop(rest);
}

// Called when no CRLF is found. The decision is made once for each line, when exactly
// line_bytes_max bytes are known, so that it does not depend on how the bytes are split.
bool LineReader::becomes_long(std::string_view head) {
  if (head.size() != line_bytes_max || bytes_max_ != line_bytes_max) return false;
  if (!may_be_long(head, allowed_)) return false;
  bytes_max_ = line_long_bytes_max;
  return true;
}

// Clears what is held. Most connections send no second long line, so its memory is given back.
void LineReader::forget() {
  if (held_.capacity() > 2 * line_bytes_max) {
    std::string().swap(held_);  // An assignment would keep the memory.
  } else {
    held_.clear();
  }
}

void LineReader::wipe() {
  ::explicit_bzero(held_.data(), held_.size());
  line_ = {};
}

void LineReader::begin_drop(std::string_view line) {
  constexpr size_t head_bytes = 8;
  too_long_ = true;
  after_cr_ = line.back() == '\r';
  dropped_head_ = line.substr(0, head_bytes);
  forget();
}

LineReader::Got LineReader::drop(std::string_view& rest) {
  if (rest.empty()) return Got::Nothing;
  // The CRLF may be split between two inputs. Of the dropped bytes only the fact is kept that the
  // last one was a CR.
  const bool ends_at_once = after_cr_ && rest.front() == '\n';
  const size_t crlf = find_crlf(rest, 0);
  if (!ends_at_once && crlf == npos) {
    after_cr_ = rest.back() == '\r';
    rest = {};
    return Got::Nothing;
  }
  rest.remove_prefix(ends_at_once ? 1 : crlf + 2);
  too_long_ = false;
  return Got::TooLong;
}

}  // namespace perennial::wire
