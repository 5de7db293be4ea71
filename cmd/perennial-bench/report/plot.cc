#include "cmd/perennial-bench/report/plot.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "cmd/perennial-bench/report/measures.h"
#include "cmd/perennial-bench/report/plot_curves.h"
#include "cmd/perennial-bench/report/plot_panel.h"
#include "cmd/perennial-bench/report/svg.h"

namespace perennial::bench {
namespace {

using Servers = std::span<const Measurement>;

// The page, in pixels.
constexpr double page_width = 1200;
constexpr double margin = 24;
constexpr double axis_room = 56;  // At the left of a panel, for what its axis says.
constexpr double panel_width = (page_width - 2 * margin - 2 * axis_room - margin) / 2;
constexpr double panel_height = 240;
constexpr double line_height = 20;
constexpr double legend_line = 28;    // The length of the line beside a name.
constexpr double letter_width = 7.5;  // About, of the font: to set names side by side.
constexpr double pair_height = panel_height + 110;

// A class for each server: colours that people with any kind of sight tell apart, and dashes once
// they are used up.
constexpr std::string_view style =
    R"(text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #24292f }
.title { font-size: 18px; font-weight: 600 }
.work { font-size: 15px; font-weight: 600 }
.heading { font-weight: 600 }
.label { font-size: 11px; fill: #57606a }
.page { fill: #ffffff }
.frame { fill: none; stroke: #8c959f }
.grid { stroke: #d8dee4 }
polyline, .key { fill: none; stroke-width: 2; stroke-linejoin: round }
.s0 { stroke: #0969da } .s1 { stroke: #d55e00 } .s2 { stroke: #00875f }
.s3 { stroke: #a3478a } .s4 { stroke: #9a6700 } .s5 { stroke: #57606a }
circle { fill: none; stroke-width: 4 }
.dashed { stroke-dasharray: 6 4 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.label { fill: #9198a1 }
.page { fill: #0d1117 }
.frame { stroke: #656c76 }
.grid { stroke: #2a313c }
.s0 { stroke: #58a6ff } .s1 { stroke: #ff8f40 } .s2 { stroke: #3fcf8e }
.s3 { stroke: #e58fc8 } .s4 { stroke: #e3b341 } .s5 { stroke: #b1bac4 }
}
)";

bool is_timed(const Measurement& measured) {
  return measured.latencies.total() > 0 || !measured.timeline.empty();
}

std::vector<Servers> timed_groups(const Report& report) {
  std::vector<Servers> timed;
  for (const Group& group : groups_of(report)) {
    const Servers servers(report.measurements.data() + group.begin, group.end - group.begin);
    if (std::ranges::any_of(servers, is_timed)) timed.push_back(servers);
  }
  return timed;
}

void draw_pair(Svg& svg, const std::vector<std::string>& names, Servers servers, double top) {
  svg.text("work", {margin, top + line_height}, Anchor::Start, title_of(servers.front()));
  const Frame left = {.corner = {margin + axis_room, top + 3 * line_height},
                      .width = panel_width,
                      .height = panel_height};
  draw_panel(svg, latency_panel(names, servers, left));
  Frame right = left;
  right.corner.x += panel_width + margin + axis_room;
  draw_panel(svg, rate_panel(names, servers, right));
}

// The line of each server beside its name, in as many rows as they need. Returns where the last row
// ends.
double draw_legend(Svg& svg, const std::vector<std::string>& names, double top) {
  Point at = {margin, top + line_height};
  for (size_t i = 0; i < names.size(); ++i) {
    const double width =
        legend_line + 3 * margin / 2 + letter_width * static_cast<double>(names[i].size());
    if (at.x > margin && at.x + width > page_width - margin) at = {margin, at.y + line_height};
    const double middle = at.y - line_height / 4;
    svg.line("key " + class_of(i), {at.x, middle}, {at.x + legend_line, middle});
    svg.text("name", {at.x + legend_line + margin / 3, at.y}, Anchor::Start, names[i]);
    at.x += width;
  }
  return at.y;
}

double draw_head(Svg& svg, const Report& report, const std::vector<std::string>& names) {
  double y = margin + line_height;
  svg.text("title", {margin, y}, Anchor::Start, "perennial bench");
  svg.text("label", {margin, y += line_height}, Anchor::Start, report.machine);
  std::string run = fmt::format("{} s x {} {}, seed {}", report.seconds, report.rounds,
                                report.rounds == 1 ? "round" : "rounds", report.seed);
  if (!report.preload.empty()) run += ", every server with " + report.preload;
  svg.text("label", {margin, y += line_height}, Anchor::Start, run);
  return draw_legend(svg, names, y + line_height / 2);
}

}  // namespace

std::string draw_plot(const Report& report) {
  const std::vector<std::string> names = server_names(report);
  const std::vector<Servers> groups = timed_groups(report);
  Svg svg;
  double y = draw_head(svg, report, names) + line_height;
  for (const Servers& servers : groups) {
    draw_pair(svg, names, servers, y);
    y += pair_height;
  }
  if (groups.empty())
    svg.text("work", {margin, y += line_height}, Anchor::Start, "Nothing was timed.");
  return svg.document(page_width, y + margin, "Latencies and throughput of each server", style);
}

}  // namespace perennial::bench
