#include "cmd/perennial/tubes/tubes_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

constexpr size_t name_columns_min = 12;
constexpr std::string_view total_label = "total";

// Workers: a connection counts in each tube that it watches, so a sum would count it several times.
enum class Kind : uint8_t { Count, Workers, Duration, Setting };

struct Column {
  std::string_view title;
  std::string_view key;
  Kind kind = Kind::Count;
  bool is_rare = false;  // Left out where all its counts are 0, unless the table is wide.
};
using Columns = std::vector<Column>;

constexpr std::array usual_columns = {
    Column{"READY", "current-jobs-ready"},
    // Few queues have concurrency keys, and a line has 80 columns.
    Column{.title = "PARKED", .key = "current-jobs-parked", .is_rare = true},
    Column{"RESERVED", "current-jobs-reserved"},
    Column{"DELAYED", "current-jobs-delayed"},
    Column{"BURIED", "current-jobs-buried"},
    Column{"WAIT", "current-waiting", Kind::Workers},
    Column{"USE", "current-using"},
    Column{"WATCH", "current-watching", Kind::Workers},
    Column{"AGE", "next-ready-age", Kind::Duration},
    Column{"PAUSE", "pause-time-left", Kind::Duration},
};
constexpr std::array more_columns = {
    Column{"DEAD", "jobs-dead"},
    Column{"EXPIRED", "jobs-expired"},
    Column{"DUP", "jobs-duplicate"},
    Column{"TRIES", "tries", Kind::Setting},
    Column{"BACKOFF", "backoff", Kind::Setting},
    Column{"DEAD-TO", "dead", Kind::Setting},
    Column{"EXPIRE", "expire", Kind::Setting},
    Column{"MAX", "reserved-max", Kind::Setting},
    Column{"RATE", "rate", Kind::Setting},
    Column{"DRAIN", "draining", Kind::Setting},
};

bool is_told(const std::vector<StatsReply>& tubes, const Column& column) {
  return tubes.empty() || tubes.front().text(column.key).has_value();
}

bool is_needed(const std::vector<StatsReply>& tubes, const Column& column) {
  return !column.is_rare || std::ranges::any_of(tubes, [&column](const StatsReply& tube) {
    return tube.count(column.key) > 0;
  });
}

struct Cells {
  std::string name;
  std::vector<std::string> values;
};

// A setting that does not apply is 0, false or empty.
std::string setting_text(std::string_view value) {
  const bool is_unset = value.empty() || value == "0" || value == "false";
  return is_unset ? "-" : value == "true" ? "yes" : printable(value);
}

std::string value_text(const StatsReply& tube, const Column& column) {
  switch (column.kind) {
    case Kind::Count:
    case Kind::Workers:
      return with_commas(tube.count(column.key));
    case Kind::Duration:
      return short_duration(tube.count(column.key));
    case Kind::Setting:
      break;
  }
  return setting_text(tube.text(column.key).value_or(""));
}

Cells cells_of(const StatsReply& tube, const Columns& columns) {
  Cells cells{.name = printable(tube.text("name").value_or("?")), .values = {}};
  for (const Column& column : columns) cells.values.push_back(value_text(tube, column));
  return cells;
}

Cells totals_of(const std::vector<StatsReply>& tubes, const Columns& columns) {
  Cells cells{.name = fmt::format("{} ({} tubes)", total_label, with_commas(tubes.size())),
              .values = {}};
  for (const Column& column : columns) {
    uint64_t sum = 0;
    for (const StatsReply& tube : tubes) sum += tube.count(column.key);
    cells.values.push_back(column.kind == Kind::Count ? with_commas(sum) : "");
  }
  return cells;
}

std::vector<Cells> all_lines(const std::vector<StatsReply>& tubes, const Columns& columns) {
  Columns shown;
  std::ranges::copy_if(columns, std::back_inserter(shown),
                       [&tubes](const Column& column) { return is_told(tubes, column); });
  std::vector<Cells> lines{{.name = "TUBE", .values = {}}};
  for (const Column& column : shown) lines.front().values.emplace_back(column.title);
  for (const StatsReply& tube : tubes) lines.push_back(cells_of(tube, shown));
  lines.push_back(totals_of(tubes, shown));
  return lines;
}

// The width of each column, with a leading space.
std::vector<size_t> widths_of(const std::vector<Cells>& lines) {
  std::vector<size_t> widths(lines.front().values.size());
  for (const Cells& line : lines) {
    for (size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], line.values[i].size() + 1);
  }
  return widths;
}

// The length of the longest name, or the space that the other columns leave.
size_t name_columns_of(const std::vector<Cells>& lines, size_t columns, size_t others) {
  size_t longest = 0;
  for (const Cells& line : lines) longest = std::max(longest, line.name.size());
  return std::min(longest,
                  columns > others + name_columns_min ? columns - others : name_columns_min);
}

std::string table_of(const std::vector<Cells>& lines, size_t columns) {
  const std::vector<size_t> widths = widths_of(lines);
  const size_t others = std::accumulate(widths.begin(), widths.end(), size_t{0});
  const size_t name_columns = name_columns_of(lines, columns, others);
  std::string out;
  for (const Cells& line : lines) {
    out += fmt::format("{:<{}}", truncate(line.name, name_columns), name_columns);
    for (size_t i = 0; i < widths.size(); ++i)
      out += fmt::format("{:>{}}", line.values[i], widths[i]);
    out += '\n';
  }
  return out;
}

}  // namespace

std::string tubes_table(const std::vector<StatsReply>& tubes, size_t columns) {
  Columns needed;
  std::ranges::copy_if(usual_columns, std::back_inserter(needed),
                       [&tubes](const Column& column) { return is_needed(tubes, column); });
  return table_of(all_lines(tubes, needed), columns);
}

std::string wide_tubes_table(const std::vector<StatsReply>& tubes) {
  Columns columns(usual_columns.begin(), usual_columns.end());
  columns.insert(columns.end(), more_columns.begin(), more_columns.end());
  return table_of(all_lines(tubes, columns), SIZE_MAX / 2);
}

}  // namespace perennial::tool
