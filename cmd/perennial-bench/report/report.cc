#include "cmd/perennial-bench/report/report.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cmd/perennial-bench/report/measures.h"
#include "cmd/perennial-bench/report/numbers.h"
#include "cmd/perennial-bench/report/text_table.h"

namespace perennial::bench {
namespace {

// The servers of one group. The others are compared with the first.
using Servers = std::span<const Measurement>;

std::string format_run(const Report& report) {
  std::string text = labelled("machine", report.machine);
  for (const std::string& version : report.versions) text += labelled("server", version);
  if (!report.preload.empty()) text += labelled("preload", report.preload);
  return text + labelled("run", fmt::format("{} s x {} {}, seed {}", report.seconds, report.rounds,
                                            report.rounds == 1 ? "round" : "rounds", report.seed));
}

std::string percentile_text(const Latencies& latencies, double share) {
  // The margin covers the rounding of 1 - 0.9.
  const bool enough = static_cast<double>(latencies.total()) * (1 - share) > 0.999;
  const bool told = share == 1 ? latencies.total() > 0 : enough;
  return told ? number_text(static_cast<double>(latencies.at(share)) / nanos_per_us) : "-";
}

std::vector<std::string> rate_cells(const Measurement& measured, const Measurement& first) {
  const Measure throughput;
  const std::optional<double> rate = value_of(measured, throughput);
  std::vector<std::string> cells = {measured.server, rate ? number_text(*rate) : "-"};
  const auto range = std::ranges::minmax_element(measured.per_second);
  cells.push_back(rate ? number_text(*range.min) + ".." + number_text(*range.max) : "-");
  for (const Percentile& percentile : percentiles)
    cells.push_back(percentile_text(measured.latencies, percentile.share));
  cells.push_back(fmt::format("{:.0f}%", measured.client_cpu * 100));
  cells.push_back(ratio_text(ratio(rate, value_of(first, throughput))));
  return cells;
}

bool is_timed(const Measurement& measured) {
  return !measured.per_second.empty() || measured.latencies.total() > 0;
}

std::string format_rates(const Servers& servers) {
  if (std::ranges::none_of(servers, is_timed)) return {};
  TextTable table({{.heading = "server", .left = true},
                   {.heading = "per second"},
                   {.heading = "lowest..highest"},
                   {.heading = "p50 us"},
                   {.heading = "p90 us"},
                   {.heading = "p99 us"},
                   {.heading = "p99.9 us"},
                   {.heading = "max us"},
                   {.heading = "client"},
                   {.heading = "ratio"}});
  for (const Measurement& measured : servers) table.add(rate_cells(measured, servers.front()));
  return table.text();
}

// The names of figures in the order of their first occurrence.
std::vector<std::string> figure_names(const Servers& servers) {
  std::vector<std::string> names;
  for (const Measurement& measured : servers)
    for (const Figure& figure : measured.figures)
      if (std::ranges::find(names, figure.name) == names.end()) names.push_back(figure.name);
  return names;
}

std::string format_figures(const Servers& servers) {
  const std::vector<std::string> names = figure_names(servers);
  if (names.empty()) return {};
  TextTable table({{.heading = "server", .left = true},
                   {.heading = "figure", .left = true},
                   {.heading = "value"},
                   {.heading = "ratio"}});
  for (const std::string& name : names)
    for (const Measurement& measured : servers) {
      const Measure figure = {.kind = Measure::Kind::Figure, .figure = name};
      const std::optional<double> value = value_of(measured, figure);
      table.add({measured.server, name, value ? value_text(measured, figure, *value) : "-",
                 ratio_text(ratio(value, value_of(servers.front(), figure)))});
    }
  return table.text();
}

std::string format_warnings(const Servers& servers) {
  std::string text;
  for (const Measurement& measured : servers)
    if (measured.client_cpu > client_share_max)
      text += fmt::format(
          "warning: {}: this client took {:.0f}% of a core; the server could have done more\n",
          measured.server, measured.client_cpu * 100);
  return text;
}

}  // namespace

std::string format_table(const Report& report) {
  std::string text = format_run(report);
  for (const Group& group : groups_of(report)) {
    const Servers servers(report.measurements.data() + group.begin, group.end - group.begin);
    text += "\n" + title_of(servers.front()) + "\n";
    text += format_rates(servers) + format_figures(servers) + format_warnings(servers);
  }
  return text;
}

}  // namespace perennial::bench
