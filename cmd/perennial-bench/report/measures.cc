#include "cmd/perennial-bench/report/measures.h"

#include <algorithm>

#include <fmt/format.h>

#include "cmd/perennial-bench/report/numbers.h"
#include "engine/types/check.h"

namespace perennial::bench {
namespace {

constexpr std::string_view throughput_name = "throughput";
constexpr std::string_view figure_prefix = "figure:";

bool same_work(const Measurement& a, const Measurement& b) {
  return a.workload == b.workload && a.setting == b.setting && a.operation == b.operation;
}

const Figure* find_figure(const Measurement& measurement, std::string_view name) {
  for (const Figure& figure : measurement.figures)
    if (figure.name == name) return &figure;
  return nullptr;
}

}  // namespace

std::optional<Measure> parse_measure(std::string_view name) {
  if (name == throughput_name) return Measure{.kind = Measure::Kind::Throughput};
  for (const Percentile& percentile : percentiles)
    if (name == percentile.name)
      return Measure{.kind = Measure::Kind::Latency, .share = percentile.share};
  if (!name.starts_with(figure_prefix) || name == figure_prefix) return std::nullopt;
  return Measure{.kind = Measure::Kind::Figure,
                 .figure = std::string(name.substr(figure_prefix.size()))};
}

std::string measure_names() {
  std::string names(throughput_name);
  for (const Percentile& percentile : percentiles) names += fmt::format(", {}", percentile.name);
  return names + " or figure:NAME";
}

std::optional<double> value_of(const Measurement& measurement, const Measure& measure) {
  switch (measure.kind) {
    case Measure::Kind::Throughput:
      if (measurement.per_second.empty()) return std::nullopt;
      return median(measurement.per_second);
    case Measure::Kind::Latency:
      if (measurement.latencies.total() == 0) return std::nullopt;
      return static_cast<double>(measurement.latencies.at(measure.share)) / nanos_per_us;
    case Measure::Kind::Figure:
      break;
  }
  const Figure* figure = find_figure(measurement, measure.figure);
  if (figure == nullptr) return std::nullopt;
  return figure->value;
}

std::string value_text(const Measurement& measurement, const Measure& measure, double value) {
  switch (measure.kind) {
    case Measure::Kind::Throughput:
      return number_text(value) + "/s";
    case Measure::Kind::Latency:
      return number_text(value) + " us";
    case Measure::Kind::Figure:
      break;
  }
  const Figure* figure = find_figure(measurement, measure.figure);
  return with_unit(value, figure == nullptr ? "" : figure->unit);
}

std::optional<double> ratio(std::optional<double> value, std::optional<double> reference) {
  if (!value || !reference || *reference <= 0) return std::nullopt;
  return *value / *reference;
}

std::vector<Group> groups_of(const Report& report) {
  const std::vector<Measurement>& all = report.measurements;
  std::vector<Group> groups;
  for (size_t i = 0; i < all.size(); ++i) {
    if (i == 0 || !same_work(all[i - 1], all[i])) groups.push_back({.begin = i, .end = i});
    groups.back().end = i + 1;
  }
  return groups;
}

std::string title_of(const Measurement& measurement) {
  return fmt::format("{}{}{}: {}", measurement.workload, measurement.setting.empty() ? "" : " ",
                     measurement.setting, measurement.operation);
}

double median(std::vector<double> values) {
  CHECK(!values.empty());
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  return odd ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace perennial::bench
