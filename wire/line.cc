#include "wire/line.h"

#include <algorithm>

namespace perennial::wire {
namespace {

constexpr size_t npos = std::string_view::npos;

// Where the CRLF is, at or after `from`.
size_t find_crlf(std::string_view text, size_t from) {
  for (size_t at = text.find('\r', from); at != npos; at = text.find('\r', at + 1)) {
    if (at + 1 < text.size() && text[at + 1] == '\n') return at;
  }
  return npos;
}

}  // namespace

LineReader::Got LineReader::take(std::string_view& rest) {
  if (complete_) held_.clear();
  complete_ = false;
  if (too_long_) return drop(rest);
  if (!held_.empty()) return take_more(rest);

  const std::string_view window = rest.substr(0, line_bytes_max);
  const size_t crlf = find_crlf(window, 0);
  if (crlf != npos) {
    line_ = window.substr(0, crlf);
    rest.remove_prefix(crlf + 2);
    return Got::Line;
  }
  rest.remove_prefix(window.size());
  if (window.size() < line_bytes_max) {
    held_.assign(window);
    return Got::Nothing;
  }
  begin_drop(window);
  return drop(rest);
}

LineReader::Got LineReader::take_more(std::string_view& rest) {
  const size_t before = held_.size();
  held_.append(rest.substr(0, line_bytes_max - before));
  const size_t crlf = find_crlf(held_, before - 1);  // Its CR may have come before.
  if (crlf != npos) {
    rest.remove_prefix(crlf + 2 - before);
    line_ = std::string_view(held_).substr(0, crlf);
    complete_ = true;
    return Got::Line;
  }
  rest.remove_prefix(held_.size() - before);
  if (held_.size() < line_bytes_max) return Got::Nothing;
  begin_drop(held_);
  return drop(rest);
}

void LineReader::begin_drop(std::string_view line) {
  constexpr size_t head_bytes = 8;
  too_long_ = true;
  after_cr_ = line.back() == '\r';
  dropped_head_ = line.substr(0, head_bytes);
  held_.clear();
}

LineReader::Got LineReader::drop(std::string_view& rest) {
  if (rest.empty()) return Got::Nothing;
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
