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
  // The last two samples, or null as long as there are none. Rates are computed from both.
  const TopSample* before = nullptr;
  const TopSample* after = nullptr;
  std::string trouble = {};  // Why there is no newer sample, or empty.
};

// The content of the screen: at most `rows` lines of at most `columns` characters. The tubes with
// the most activity come first, then those with the most ready jobs, then by name. Pure.
std::vector<ScreenLine> top_screen(const TopView& view, ScreenSize size);

}  // namespace perennial::tool
