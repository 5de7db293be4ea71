#include "cmd/perennial/tubes/tubes_table.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "cmd/perennial/output/readable.h"
#include "cmd/perennial/output/table.h"

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

TableLine line_of(const StatsReply& tube, const Columns& columns) {
  TableLine line = {printable(tube.text("name").value_or("?"))};
  for (const Column& column : columns) line.push_back(value_text(tube, column));
  return line;
}

TableLine totals_of(const std::vector<StatsReply>& tubes, const Columns& columns) {
  TableLine line = {fmt::format("{} ({} tubes)", total_label, with_commas(tubes.size()))};
  for (const Column& column : columns) {
    uint64_t sum = 0;
    for (const StatsReply& tube : tubes) sum += tube.count(column.key);
    line.push_back(column.kind == Kind::Count ? with_commas(sum) : "");
  }
  return line;
}

std::string table_of(const std::vector<StatsReply>& tubes, const Columns& columns,
                     size_t columns_max) {
  Columns shown;
  std::ranges::copy_if(columns, std::back_inserter(shown),
                       [&tubes](const Column& column) { return is_told(tubes, column); });
  std::vector<TableLine> lines = {{"TUBE"}};
  for (const Column& column : shown) lines.front().emplace_back(column.title);
  for (const StatsReply& tube : tubes) lines.push_back(line_of(tube, shown));
  lines.push_back(totals_of(tubes, shown));
  return text_table(lines,
                    {.gap = 1, .columns_max = columns_max, .first_column_min = name_columns_min});
}

}  // namespace

std::string tubes_table(const std::vector<StatsReply>& tubes, size_t columns) {
  Columns needed;
  std::ranges::copy_if(usual_columns, std::back_inserter(needed),
                       [&tubes](const Column& column) { return is_needed(tubes, column); });
  return table_of(tubes, needed, columns);
}

std::string wide_tubes_table(const std::vector<StatsReply>& tubes) {
  Columns columns(usual_columns.begin(), usual_columns.end());
  columns.insert(columns.end(), more_columns.begin(), more_columns.end());
  return table_of(tubes, columns, SIZE_MAX);
}

}  // namespace perennial::tool
