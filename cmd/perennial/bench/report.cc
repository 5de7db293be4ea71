#include "cmd/perennial/bench/report.h"

#include <algorithm>

#include <fmt/format.h>

namespace perennial::bench {
namespace {

constexpr double busy_share = 0.9;  // Of one core: above this the client holds the server back.

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const size_t middle = values.size() / 2;
  const bool odd = values.size() % 2 == 1;
  return odd ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

bool are_compared(const Measurement& one, const Measurement& other) {
  return one.workload == other.workload && one.setting == other.setting &&
         one.operation == other.operation;
}

std::string format_line(const Measurement& measurement, const Measurement& first) {
  const Latencies& times = measurement.latencies;
  std::string text = fmt::format("  {:<24}", measurement.server);
  if (!measurement.per_second.empty()) {
    const double rate = median(measurement.per_second);
    text += fmt::format(" {:>10.0f}/s {:>6.2f}", rate, rate / median(first.per_second));
  }
  if (times.total() > 0)
    text += fmt::format("  us: p50 {} p99 {} p99.9 {} max {}", times.at(0.5) / 1000,
                        times.at(0.99) / 1000, times.at(0.999) / 1000, times.max() / 1000);
  for (const Figure& figure : measurement.figures)
    text += fmt::format("  {} {:.3f} {}", figure.name, figure.value, figure.unit);
  text += fmt::format("  client {:.0f}%\n", measurement.client_cpu * 100);
  if (measurement.client_cpu > busy_share)
    text += "  warning: this client was busy all the time; the server could have done more\n";
  return text;
}

}  // namespace

std::string format_table(const Report& report) {
  std::string text = fmt::format("machine  {}\n", report.machine);
  for (const std::string& version : report.versions) text += fmt::format("server   {}\n", version);
  if (!report.preload.empty()) text += fmt::format("preload  {}\n", report.preload);
  text += fmt::format("run      {} s x {} rounds, seed {}\n", report.seconds, report.rounds,
                      report.seed);
  const Measurement* first = nullptr;
  for (const Measurement& each : report.measurements) {
    if (first == nullptr || !are_compared(*first, each)) {
      first = &each;
      text += fmt::format("\n{} {} {}\n", each.workload, each.setting, each.operation);
    }
    text += format_line(each, *first);
  }
  return text;
}

}  // namespace perennial::bench
