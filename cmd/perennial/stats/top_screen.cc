#include "cmd/perennial/stats/top_screen.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

using Style = ScreenLine::Style;

constexpr std::string_view unknown = "-";

// The increase of a counter per second. None if there is no earlier sample, or if the server has
// restarted.
class Rates {
 public:
  explicit Rates(const TopView& view) {
    if (view.before == nullptr || view.after == nullptr) return;
    if (view.before->server.text("id") != view.after->server.text("id")) return;
    seconds_ = static_cast<double>(view.after->at - view.before->at) / nanos_per_second;
  }

  std::optional<double> of(const StatsReply* before, const StatsReply& after,
                           std::string_view key) const {
    if (seconds_ <= 0) return std::nullopt;
    // For a new tube all counts have happened since the earlier sample.
    const uint64_t from = before == nullptr ? 0 : before->count(key);
    const uint64_t to = after.count(key);
    return to < from ? 0 : static_cast<double>(to - from) / seconds_;
  }

 private:
  double seconds_ = 0;
};

std::string text_of(std::optional<double> rate) {
  return rate ? rate_text(*rate) : std::string(unknown);
}

// Joins as many parts as fit into the line. The most important come first.
std::string fitted(std::string_view head, std::span<const std::string> parts, size_t columns) {
  std::string line = fmt::format("{:<9}", head);
  std::string_view gap = "";
  for (const std::string& part : parts) {
    if (line.size() + gap.size() + part.size() > columns) break;
    line += gap;
    line += part;
    gap = "  ";
  }
  return truncate(line, columns);
}

std::string title(const TopView& view) {
  const StatsReply& server = view.after->server;
  std::string text =
      fmt::format("{}  version {}  up {}", view.address, server_version(server).value_or(unknown),
                  duration_text(server.count("uptime")));
  if (server.text("draining") == "true") text += "  DRAINING: takes no jobs";
  return printable(text);
}

std::string jobs_line(const StatsReply& server, size_t columns) {
  const auto count = [&server](std::string_view key, std::string_view label) {
    return fmt::format("{} {}", with_commas(server.count(key)), label);
  };
  std::vector<std::string> parts = {
      count("current-jobs-ready", "ready"), count("current-jobs-reserved", "reserved"),
      count("current-jobs-delayed", "delayed"), count("current-jobs-buried", "buried"),
      count("current-jobs-urgent", "urgent")};
  if (server.count("current-jobs-parked") > 0)
    parts.push_back(count("current-jobs-parked", "parked"));
  return fitted("jobs", parts, columns);
}

std::string rates_line(const TopView& view, const Rates& rates, size_t columns) {
  const StatsReply* const before = view.before == nullptr ? nullptr : &view.before->server;
  const auto of = [&](std::string_view key) { return rates.of(before, view.after->server, key); };
  const auto part = [](std::string_view label, std::optional<double> rate) {
    return fmt::format("{} {}", label, text_of(rate));
  };
  // A batch is one command.
  const auto sum = [&](std::initializer_list<std::string_view> keys) {
    std::optional<double> rate;
    for (const std::string_view key : keys)
      if (const auto one = of(key)) rate = rate.value_or(0) + *one;
    return rate;
  };
  const std::optional<double> put = sum({"cmd-put", "cmd-put-batch"});
  const std::optional<double> reserve =
      sum({"cmd-reserve", "cmd-reserve-with-timeout", "cmd-reserve-batch"});
  const std::optional<double> deleted = sum({"cmd-delete", "cmd-delete-batch"});
  const std::array parts = {part("put", put),
                            part("reserve", reserve),
                            part("delete", deleted),
                            part("timeout", of("job-timeouts")),
                            part("release", of("cmd-release")),
                            part("bury", of("cmd-bury")),
                            part("kick", of("cmd-kick"))};
  return fitted("per s", parts, columns);
}

// Jobs that ended without a worker. Empty for a server that does not report them.
std::string ended_line(const TopView& view, const Rates& rates, size_t columns) {
  const StatsReply& server = view.after->server;
  const StatsReply* const before = view.before == nullptr ? nullptr : &view.before->server;
  std::vector<std::string> parts;
  const auto add = [&](std::string_view key, std::string_view label) {
    if (const std::optional<uint64_t> jobs = server.number(key))
      parts.push_back(fmt::format("{} {} ({} per s)", with_commas(*jobs), label,
                                  text_of(rates.of(before, server, key))));
  };
  add("jobs-dead", "dead");
  add("jobs-expired", "expired");
  return parts.empty() ? std::string() : fitted("ended", parts, columns);
}

std::string clients_line(const StatsReply& server, size_t columns) {
  const auto count = [&server](std::string_view key, std::string_view label) {
    return fmt::format("{} {}", with_commas(server.count(key)), label);
  };
  const std::array parts = {
      fmt::format("{} of {} workers wait", with_commas(server.count("current-waiting")),
                  with_commas(server.count("current-workers"))),
      count("current-producers", "producers"), count("current-connections", "connections")};
  return fitted("clients", parts, columns);
}

// Empty for a server that is not perenniald.
std::string store_line(const StatsReply& server, size_t columns) {
  std::vector<std::string> parts;
  const auto add = [&](std::string_view key, auto text) {
    if (const std::optional<uint64_t> number = server.number(key)) parts.push_back(text(*number));
  };
  if (const auto state = server.text("store-state")) parts.push_back(printable(*state));
  add("sync-us-p99", [](uint64_t us) { return "sync p99 " + latency_text(us); });
  add("checkpoint-age",
      [](uint64_t s) { return fmt::format("checkpoint {} ago", duration_text(s)); });
  add("jobs-damaged", [](uint64_t jobs) { return fmt::format("{} damaged", with_commas(jobs)); });
  add("loop-lag-us", [](uint64_t us) { return "loop lag " + latency_text(us); });
  if (const auto jobs = server.text("batch-jobs-mean"))
    parts.push_back(printable(*jobs) + " changes a sync");
  return parts.empty() ? std::string() : fitted("store", parts, columns);
}

// Empty for a server that does not report it.
std::string oldest_line(const TopSample& sample, size_t columns) {
  const StatsReply* oldest = nullptr;
  for (const StatsReply& tube : sample.tubes) {
    if (!tube.number("next-ready-age")) return {};
    if (tube.count("current-jobs-ready") == 0) continue;
    const bool older =
        oldest == nullptr || tube.count("next-ready-age") > oldest->count("next-ready-age");
    if (older) oldest = &tube;
  }
  if (oldest == nullptr) return "oldest   no job is ready";
  return truncate(fmt::format("{:<9}a job has been ready for {}, in {}", "oldest",
                              duration_text(oldest->count("next-ready-age")),
                              printable(oldest->text("name").value_or(unknown))),
                  columns);
}

struct TubeRow {
  const StatsReply* tube;
  std::optional<double> put;
  std::optional<double> deleted;

  double activity() const { return put.value_or(0) + deleted.value_or(0); }
  uint64_t ready() const { return tube->count("current-jobs-ready"); }
};

// Both samples are sorted by name.
const StatsReply* find_tube(const TopSample* sample, std::string_view name) {
  if (sample == nullptr) return nullptr;
  const auto name_of = [](const StatsReply& tube) { return tube.text("name").value_or(unknown); };
  const auto found = std::ranges::lower_bound(sample->tubes, name, {}, name_of);
  return found != sample->tubes.end() && name_of(*found) == name ? &*found : nullptr;
}

std::vector<TubeRow> busiest(const TopView& view, const Rates& rates, size_t count) {
  std::vector<TubeRow> rows;
  for (const StatsReply& tube : view.after->tubes) {
    const StatsReply* const before = find_tube(view.before, tube.text("name").value_or(unknown));
    rows.push_back({.tube = &tube,
                    .put = rates.of(before, tube, "total-jobs"),
                    .deleted = rates.of(before, tube, "cmd-delete")});
  }
  const size_t shown = std::min(count, rows.size());
  // Equal rows stay sorted by name, because the comparison falls back on addresses within the
  // sorted vector.
  std::ranges::partial_sort(rows, rows.begin() + static_cast<ptrdiff_t>(shown),
                            [](const TubeRow& a, const TubeRow& b) {
                              if (a.activity() != b.activity()) return a.activity() > b.activity();
                              if (a.ready() != b.ready()) return a.ready() > b.ready();
                              return a.tube < b.tube;
                            });
  rows.resize(shown);
  return rows;
}

std::string table_line(std::string_view name, const std::array<std::string, 8>& values,
                       size_t columns) {
  constexpr std::array<size_t, 8> widths = {8, 9, 8, 8, 6, 5, 9, 9};
  constexpr size_t name_min = 8;
  size_t rest = 0;
  for (const size_t width : widths) rest += width;
  const size_t name_columns = std::max(columns, rest + name_min) - rest;
  std::string line = fmt::format("{:<{}}", truncate(name, name_columns), name_columns);
  for (size_t i = 0; i < widths.size(); ++i) line += fmt::format("{:>{}}", values[i], widths[i]);
  return truncate(line, columns);
}

std::string tube_line(const TubeRow& row, size_t columns) {
  const StatsReply& tube = *row.tube;
  std::string name = printable(tube.text("name").value_or(unknown));
  if (tube.count("pause-time-left") > 0) name = "paused: " + name;
  const std::optional<uint64_t> age = tube.number("next-ready-age");
  return table_line(
      name,
      {short_count(tube.count("current-jobs-ready")),
       short_count(tube.count("current-jobs-reserved")),
       short_count(tube.count("current-jobs-delayed")),
       short_count(tube.count("current-jobs-buried")), short_count(tube.count("current-waiting")),
       age && row.ready() > 0 ? short_duration(*age) : std::string(unknown), text_of(row.put),
       text_of(row.deleted)},
      columns);
}

void add_tubes(std::vector<ScreenLine>& lines, const TopView& view, const Rates& rates,
               ScreenSize size) {
  lines.push_back(
      {table_line(fmt::format("{} TUBES", with_commas(view.after->tubes.size())),
                  {"READY", "RESERVED", "DELAYED", "BURIED", "WAIT", "AGE", "PUT/S", "DEL/S"},
                  size.columns),
       Style::Reverse});
  const size_t rows_left = size.rows > lines.size() ? size.rows - lines.size() : 0;
  for (const TubeRow& row : busiest(view, rates, rows_left))
    lines.push_back({tube_line(row, size.columns), Style::Plain});
}

}  // namespace

std::vector<ScreenLine> top_screen(const TopView& view, ScreenSize size) {
  std::vector<ScreenLine> lines;
  const auto add = [&](const std::string& text, Style style) {
    if (!text.empty()) lines.push_back({truncate(text, size.columns), style});
  };
  add(view.after == nullptr ? view.address : title(view), Style::Bold);
  if (!view.trouble.empty()) add("NO ANSWER: " + printable(view.trouble), Style::Reverse);
  if (view.after != nullptr) {
    const Rates rates(view);
    const StatsReply& server = view.after->server;
    add(jobs_line(server, size.columns), Style::Plain);
    add(rates_line(view, rates, size.columns), Style::Plain);
    add(ended_line(view, rates, size.columns), Style::Plain);
    add(clients_line(server, size.columns), Style::Plain);
    add(store_line(server, size.columns), Style::Plain);
    add(oldest_line(*view.after, size.columns), Style::Plain);
    lines.push_back({});
    add_tubes(lines, view, rates, size);
  }
  if (lines.size() > size.rows) lines.resize(size.rows);
  return lines;
}

}  // namespace perennial::tool
