#include "cmd/perennial-bench/report/report_json.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "cmd/perennial-bench/report/measures.h"
#include "cmd/perennial-bench/report/numbers.h"
#include "cmd/perennial-bench/report/percentile_curve.h"

namespace perennial::bench {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned steps_to_a_nine = 10;

Json or_null(std::optional<double> value) {
  return value ? Json(*value) : Json();
}

Json throughput_of(const Measurement& measured) {
  if (measured.per_second.empty()) return {};
  return {{"per_second", median(measured.per_second)},
          {"lowest", std::ranges::min(measured.per_second)},
          {"highest", std::ranges::max(measured.per_second)},
          {"rounds", measured.per_second}};
}

// 99.9 and not 99.90000000000001. The precision is a millionth of what the percentile leaves out.
double rounded_percentile(const CurvePoint& point) {
  const double fine = std::pow(10, std::ceil(point.nines) + 4);
  return std::round(point.share * 100 * fine) / fine;
}

Json latency_of(const Measurement& measured) {
  const Latencies& latencies = measured.latencies;
  if (latencies.total() == 0) return {};
  Json json = {{"count", latencies.total()}, {"unit", "us"}};
  for (const Percentile& percentile : percentiles)
    json[std::string(percentile.name)] =
        static_cast<double>(latencies.at(percentile.share)) / nanos_per_us;
  Json& curve = json["percentiles"] = Json::array();
  for (const CurvePoint& point : percentile_curve(latencies, steps_to_a_nine))
    curve.push_back({rounded_percentile(point), static_cast<double>(point.latency) / nanos_per_us});
  return json;
}

Json figures_of(const Measurement& measured) {
  Json json = Json::object();
  for (const Figure& figure : measured.figures)
    json[figure.name] = {{"value", figure.value}, {"unit", figure.unit}};
  return json;
}

Json ratios_of(const Measurement& measured, const Measurement& first) {
  std::vector<std::string> names = {"throughput"};
  for (const Percentile& percentile : percentiles) names.emplace_back(percentile.name);
  for (const Figure& figure : measured.figures) names.push_back("figure:" + figure.name);
  Json json = Json::object();
  for (const std::string& name : names) {
    const std::optional<Measure> measure = parse_measure(name);
    if (measure)  // An unnamed figure is skipped.
      json[name] = or_null(ratio(value_of(measured, *measure), value_of(first, *measure)));
  }
  return json;
}

Json measurement_of(const Measurement& measured, const Measurement& first) {
  return {{"workload", measured.workload},         {"setting", measured.setting},
          {"operation", measured.operation},       {"server", measured.server},
          {"throughput", throughput_of(measured)}, {"latency", latency_of(measured)},
          {"figures", figures_of(measured)},       {"ratio", ratios_of(measured, first)},
          {"client_cpu", measured.client_cpu},     {"timeline", measured.timeline}};
}

}  // namespace

std::string format_json(const Report& report) {
  Json measurements = Json::array();
  for (const Group& group : groups_of(report))
    for (size_t i = group.begin; i < group.end; ++i)
      measurements.push_back(
          measurement_of(report.measurements[i], report.measurements[group.begin]));
  const Json json = {{"machine", report.machine},
                     {"versions", report.versions},
                     {"preload", report.preload.empty() ? Json() : Json(report.preload)},
                     {"seed", report.seed},
                     {"seconds", report.seconds},
                     {"rounds", report.rounds},
                     {"timeline_interval_ms", timeline_interval / nanos_per_ms},
                     {"measurements", std::move(measurements)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace perennial::bench
