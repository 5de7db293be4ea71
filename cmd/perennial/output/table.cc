#include "cmd/perennial/output/table.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

std::vector<size_t> widths_of(const std::vector<TableLine>& lines, const TableLayout& layout) {
  std::vector<size_t> widths(lines.front().size());
  for (const TableLine& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  const size_t others =
      std::accumulate(widths.begin() + 1, widths.end(), layout.gap * (widths.size() - 1));
  const size_t first_max = layout.columns_max > others + layout.first_column_min
                               ? layout.columns_max - others
                               : layout.first_column_min;
  widths.front() = std::min(widths.front(), first_max);
  return widths;
}

}  // namespace

std::string text_table(const std::vector<TableLine>& lines, const TableLayout& layout) {
  const std::vector<size_t> widths = widths_of(lines, layout);
  const std::string gap(layout.gap, ' ');
  std::string out;
  for (const TableLine& line : lines) {
    out += fmt::format("{:<{}}", truncate(line.front(), widths.front()), widths.front());
    for (size_t i = 1; i < line.size(); ++i) {
      const bool is_number = layout.numbers <= i && i < layout.numbers_end;
      const bool is_last = i + 1 == line.size();
      out += gap;
      // Nothing is behind the last column, so it is not filled up with spaces.
      out += is_number ? fmt::format("{:>{}}", line[i], widths[i])
                       : fmt::format("{:<{}}", line[i], is_last ? 0 : widths[i]);
    }
    out += '\n';
  }
  return out;
}

}  // namespace perennial::tool
