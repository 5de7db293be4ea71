#include "cmd/perennial/live/tubes_table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

constexpr size_t name_columns_min = 12;
constexpr std::string_view total_label = "total";

struct Column {
  std::string_view title;
  std::string_view key;
  bool duration = false;
};
constexpr std::array all_columns = {
    Column{"READY", "current-jobs-ready"},     Column{"RESERVED", "current-jobs-reserved"},
    Column{"DELAYED", "current-jobs-delayed"}, Column{"BURIED", "current-jobs-buried"},
    Column{"WAIT", "current-waiting"},         Column{"USE", "current-using"},
    Column{"WATCH", "current-watching"},       Column{"AGE", "next-ready-age", true},
    Column{"PAUSE", "pause-time-left", true},
};

bool is_told(const std::vector<StatsReply>& tubes, const Column& column) {
  return tubes.empty() || tubes.front().number(column.key).has_value();
}

struct Cells {
  std::string name;
  std::vector<std::string> values;
};

Cells cells_of(const StatsReply& tube, const std::vector<Column>& columns) {
  Cells cells{.name = printable(tube.text("name").value_or("?")), .values = {}};
  for (const Column& column : columns) {
    const uint64_t number = tube.count(column.key);
    cells.values.push_back(column.duration ? short_duration(number) : with_commas(number));
  }
  return cells;
}

Cells totals_of(const std::vector<StatsReply>& tubes, const std::vector<Column>& columns) {
  Cells cells{.name = fmt::format("{} ({} tubes)", total_label, with_commas(tubes.size())),
              .values = {}};
  for (const Column& column : columns) {
    uint64_t sum = 0;
    for (const StatsReply& tube : tubes) sum += tube.count(column.key);
    cells.values.push_back(column.duration ? "" : with_commas(sum));
  }
  return cells;
}

std::vector<Cells> all_lines(const std::vector<StatsReply>& tubes) {
  std::vector<Column> shown;
  std::ranges::copy_if(all_columns, std::back_inserter(shown),
                       [&tubes](const Column& column) { return is_told(tubes, column); });
  std::vector<Cells> lines{{.name = "TUBE", .values = {}}};
  for (const Column& column : shown) lines.front().values.emplace_back(column.title);
  for (const StatsReply& tube : tubes) lines.push_back(cells_of(tube, shown));
  lines.push_back(totals_of(tubes, shown));
  return lines;
}

// Of each column, with a space before it.
std::vector<size_t> widths_of(const std::vector<Cells>& lines) {
  std::vector<size_t> widths(lines.front().values.size());
  for (const Cells& line : lines) {
    for (size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], line.values[i].size() + 1);
  }
  return widths;
}

// The longest name, or what the other columns leave.
size_t name_columns_of(const std::vector<Cells>& lines, size_t columns, size_t others) {
  size_t longest = 0;
  for (const Cells& line : lines) longest = std::max(longest, line.name.size());
  return std::min(longest,
                  columns > others + name_columns_min ? columns - others : name_columns_min);
}

}  // namespace

std::string tubes_table(const std::vector<StatsReply>& tubes, size_t columns) {
  const std::vector<Cells> lines = all_lines(tubes);
  const std::vector<size_t> widths = widths_of(lines);
  const size_t others = std::accumulate(widths.begin(), widths.end(), size_t{0});
  const size_t name_columns = name_columns_of(lines, columns, others);
  std::string out;
  for (const Cells& line : lines) {
    out += fmt::format("{:<{}}", cut(line.name, name_columns), name_columns);
    for (size_t i = 0; i < widths.size(); ++i)
      out += fmt::format("{:>{}}", line.values[i], widths[i]);
    out += '\n';
  }
  return out;
}

}  // namespace perennial::tool
