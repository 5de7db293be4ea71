#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cmd/perennial/live/top_sample.h"

namespace perennial::tool {

struct ScreenSize {
  size_t rows = 24;
  size_t columns = 80;
};

struct ScreenLine {
  enum class Style : unsigned char { Plain, Bold, Reverse };
  std::string text;
  Style style = Style::Plain;
};

struct TopView {
  std::string address;
  // The last two answers; null as long as there is none. Rates are told from both.
  const TopSample* before = nullptr;
  const TopSample* after = nullptr;
  std::string trouble = {};  // Why there is no newer answer, if there is none.
};

// What perennial top shows: at most `rows` lines of at most `columns` characters. Tubes in which
// most happens come first, then those with most ready jobs, then by name. Pure.
std::vector<ScreenLine> top_screen(const TopView& view, ScreenSize size);

}  // namespace perennial::tool
