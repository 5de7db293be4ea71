#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perennial-bench/results/measurement.h"

// The values of a measurement by name. The table, the JSON and the budgets use the same names.
namespace perennial::bench {

// Operations per second, a percentile of latencies, or a figure of a workload.
struct Measure {
  enum class Kind : uint8_t { Throughput, Latency, Figure };
  Kind kind = Kind::Throughput;
  double share = 0;         // For a latency: 0.99 for p99, 1 for max.
  std::string figure = {};  // The name of a figure.
};

// "p50", "p90", "p99", "p99.9" and "max", in this order.
struct Percentile {
  std::string_view name;
  double share;
};
inline constexpr Percentile percentiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"max", 1}};

// Parses "throughput", "figure:NAME", or the name of a percentile. None: the name is invalid.
std::optional<Measure> parse_measure(std::string_view name);
// The names that parse_measure() accepts, for messages.
std::string measure_names();

// Returns operations per second as the median of the rounds, microseconds, or the figure in its
// unit. None: the measurement does not have this value.
std::optional<double> value_of(const Measurement& measurement, const Measure& measure);
// The value with its unit, for people.
std::string value_text(const Measurement& measurement, const Measure& measure, double value);

// Returns value / reference. None unless both exist and the reference is above zero.
std::optional<double> ratio(std::optional<double> value, std::optional<double> reference);

// Measurements of one workload, setting and operation, which are compared: the range [begin, end)
// of Report::measurements, in the order of the servers.
struct Group {
  size_t begin = 0;
  size_t end = 0;
};
std::vector<Group> groups_of(const Report& report);
// "put 50x1: put".
std::string title_of(const Measurement& measurement);

// REQUIRES: `values` is not empty.
double median(std::vector<double> values);

}  // namespace perennial::bench
