#include "cmd/perenniald/http/metrics_writer.h"

#include <algorithm>
#include <cstdlib>

namespace perennial::http {

void MetricsWriter::family(std::string_view name, MetricType type, std::string_view unit,
                           std::string_view help) {
  name_ = name;
  suffix_ = type == MetricType::Counter ? "_total" : type == MetricType::Info ? "_info" : "";
  constexpr std::string_view names[] = {"counter", "gauge", "info", "histogram"};
  // In the old format a family has the name of its samples, and there is no type for info.
  const std::string family = open_ ? name_ : fmt::format("{}{}", name_, suffix_);
  const std::string_view type_name =
      type == MetricType::Info && !open_ ? "gauge" : names[static_cast<size_t>(type)];
  out_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", family, help, family, type_name);
  if (open_ && !unit.empty()) out_ += fmt::format("# UNIT {} {}\n", family, unit);
}

void MetricsWriter::histogram(const HistogramView& view, double scale, Labels labels) {
  uint64_t below = 0;
  for (size_t i = 0; i < view.bounds.size(); ++i) {
    below += view.counts[i];
    line("_bucket", labels, bucket_text(static_cast<double>(view.bounds[i]) * scale), below);
  }
  below += view.counts.back();
  line("_bucket", labels, "+Inf", below);
  line("_sum", labels, {}, view.sum * scale);
  line("_count", labels, {}, below);
}

std::string MetricsWriter::take() {
  if (open_) out_ += "# EOF\n";
  return std::move(out_);
}

void MetricsWriter::head(std::string_view suffix, Labels labels, std::string_view le) {
  out_ += name_;
  out_ += suffix;
  char before = '{';
  for (const auto& [name, text] : labels) label(before, name, text);
  if (!le.empty()) label(before, "le", le);
  if (before != '{') out_ += '}';
}

void MetricsWriter::label(char& before, std::string_view name, std::string_view text) {
  out_ += before;
  before = ',';
  out_ += name;
  out_ += "=\"";
  for (const char c : text) {
    if (c == '\n') {
      out_ += "\\n";
    } else {
      if (c == '"' || c == '\\') out_ += '\\';
      out_ += c;
    }
  }
  out_ += '"';
}

// The fewest digits that read back as the number. Like Go's %g it has an exponent below 1e-4 and
// from 1e+06 on, and otherwise a point. A product such as 26214400000 * 1e-9 has an error in its
// last digit, so 15 digits must do.
std::string bucket_text(double bound) {
  constexpr int digits_max = 15;
  const double rounded =
      std::strtod(fmt::format("{:.{}e}", bound, digits_max - 1).c_str(), nullptr);
  std::string text;
  int digits = 0;
  do {
    text = fmt::format("{:.{}e}", rounded, digits++);
  } while (digits < digits_max && std::strtod(text.c_str(), nullptr) != rounded);
  const int exponent = std::atoi(text.c_str() + text.find('e') + 1);
  if (exponent < -4 || exponent >= 6) return text;
  return fmt::format("{:.{}f}", rounded, std::max(digits - 1 - exponent, 1));
}

}  // namespace perennial::http
