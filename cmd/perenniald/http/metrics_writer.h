#pragma once

#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "engine/types/basic.h"
#include "engine/types/histogram.h"

namespace perennial::http {

enum class MetricType : uint8_t { Counter, Gauge, Info, Histogram };

// Writes families of metrics in one of the two formats: OpenMetrics 1.0, or the text format 0.0.4.
// All samples of a family come behind its head.
class MetricsWriter {
 public:
  // Pairs of names and values. Values are escaped.
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  explicit MetricsWriter(bool open_metrics) : open_(open_metrics) {}

  // `name` is without "_total" and "_info". `unit` is its last word, or empty.
  void family(std::string_view name, MetricType type, std::string_view unit, std::string_view help);
  template <typename Value>
  void sample(Value value, Labels labels = {}) {
    line(suffix_, labels, {}, value);
  }
  // A family with one sample.
  template <typename Value>
  void single(std::string_view name, MetricType type, std::string_view unit, std::string_view help,
              Value value) {
    family(name, type, unit, help);
    sample(value);
  }
  // The samples of one histogram: its buckets, each with all below it, its sum and its count.
  // `scale`: how much of the unit of the family a recorded 1 is.
  void histogram(const HistogramView& view, double scale, Labels labels = {});

  // Adds what `other` has, behind this. REQUIRES: it writes the same format, and take() is still to
  // come.
  void append(const MetricsWriter& other) { out_ += other.out_; }
  std::string take();

 private:
  // `le`: the bound of a bucket, or empty.
  template <typename Value>
  void line(std::string_view suffix, Labels labels, std::string_view le, Value value) {
    head(suffix, labels, le);
    fmt::format_to(std::back_inserter(out_), " {}\n", value);
  }
  void head(std::string_view suffix, Labels labels, std::string_view le);
  void label(char& before, std::string_view name, std::string_view text);

  const bool open_;
  std::string name_;
  std::string_view suffix_;
  std::string out_;
};

// A time in seconds.
inline double in_seconds(Nanos time) {
  return static_cast<double>(time) / static_cast<double>(nanos_per_second);
}
// The scale of histograms of nanoseconds.
inline constexpr double nanos_to_seconds = 1e-9;

// The bound of a bucket as OpenMetrics wants it, and as Prometheus' own libraries write it:
// "5e-05", "1.0", "1.048576e+06". Servers must agree on this text, because it is the value of a
// label.
std::string bucket_text(double bound);

}  // namespace perennial::http
