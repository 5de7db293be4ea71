#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cmd/common/tool/stats_reply.h"
#include "engine/types/basic.h"

namespace perennial::tool {

// The statistics of a server at one moment.
struct TopSample {
  Nanos at = 0;  // On a monotonic clock.
  StatsReply server;
  std::vector<StatsReply> tubes;  // Sorted by name.
};

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
