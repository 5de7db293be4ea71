#include "cmd/perennial-bench/report/plot_curves.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "cmd/perennial-bench/report/percentile_curve.h"

namespace perennial::bench {
namespace {

constexpr unsigned steps_to_a_nine = 20;
constexpr double interval_s = static_cast<double>(timeline_interval) / nanos_per_second;

std::string class_of(const std::vector<std::string>& names, const std::string& server) {
  return bench::class_of(static_cast<size_t>(std::ranges::find(names, server) - names.begin()));
}

// The operations of each interval stand in its middle.
std::vector<Point> rates_of(const std::vector<uint64_t>& timeline) {
  std::vector<Point> points;
  points.reserve(timeline.size());
  for (const uint64_t operations : timeline)
    points.push_back({.x = (static_cast<double>(points.size()) + 0.5) * interval_s,
                      .y = static_cast<double>(operations) / interval_s});
  return points;
}

}  // namespace

std::vector<std::string> server_names(const Report& report) {
  std::vector<std::string> names;
  for (const Measurement& measured : report.measurements)
    if (std::ranges::find(names, measured.server) == names.end()) names.push_back(measured.server);
  return names;
}

std::string class_of(size_t server) {
  return fmt::format("s{}{}", server % plot_colours,
                     server / plot_colours % 2 == 1 ? " dashed" : "");
}
Panel latency_panel(const std::vector<std::string>& names, std::span<const Measurement> servers,
                    const Frame& frame) {
  Nanos shortest = std::numeric_limits<Nanos>::max();
  Nanos longest = 0;
  double nines = 0;
  std::vector<Curve> curves;
  for (const Measurement& measured : servers) {
    Curve curve = {.css_class = class_of(names, measured.server)};
    for (const CurvePoint& point : percentile_curve(measured.latencies, steps_to_a_nine)) {
      curve.points.push_back({.x = point.nines, .y = static_cast<double>(point.latency)});
      shortest = std::min(shortest, point.latency);
      longest = std::max(longest, point.latency);
      nines = std::max(nines, point.nines);
    }
    curves.push_back(std::move(curve));
  }
  return {.frame = frame,
          .heading = "Latency by percentile",
          .x = percentile_axis(nines),
          .y = latency_axis(std::min(shortest, longest), longest),
          .curves = std::move(curves)};
}

Panel rate_panel(const std::vector<std::string>& names, std::span<const Measurement> servers,
                 const Frame& frame) {
  double highest = 0;
  double seconds = 0;
  std::vector<Curve> curves;
  for (const Measurement& measured : servers) {
    curves.push_back(
        {.css_class = class_of(names, measured.server), .points = rates_of(measured.timeline)});
    for (const Point& point : curves.back().points) highest = std::max(highest, point.y);
    seconds = std::max(seconds, static_cast<double>(measured.timeline.size()) * interval_s);
  }
  return {.frame = frame,
          .heading = "Operations per second, last round",
          .x = time_axis(seconds),
          .y = rate_axis(highest),
          .curves = std::move(curves)};
}

}  // namespace perennial::bench
