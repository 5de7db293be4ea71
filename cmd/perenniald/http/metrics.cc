#include "cmd/perenniald/http/metrics.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cmd/perenniald/http/metrics_writer.h"
#include "cmd/perenniald/http/server_metrics.h"
#include "wire/stats.h"

namespace perennial::http {
namespace {

Response response_of(MetricsWriter& out, bool open_metrics) {
  return {.content_type = open_metrics
                              ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                              : "text/plain; version=0.0.4; charset=utf-8",
          .body = out.take()};
}

// Steps: all tubes are looked at, then the families of the server are written, then the histograms
// of tubes. What is left needs no engine: tubes are listed, and their other families, which are the
// most by far, are written.
class Metrics final : public Answer {
 public:
  Metrics(MetricSources& sources, const MetricsRequest& request)
      : sources_(sources),
        request_(request),
        out_(request.open_metrics),
        times_out_(request.open_metrics),
        tubes_(request_.tubes),
        times_(request_.tubes_only ? &request_.tubes : nullptr) {}

  Step step() override {
    if (!has_tubes_) {
      has_tubes_ = tubes_.step(sources_.engine());
      return Step::Again;
    }
    if (!has_server_) {
      has_server_ = true;
      if (request_.tubes_only) {
        out_.single("perennial_tubes_unlisted", MetricType::Gauge, "",
                    "Tubes that fit and are too many.", tubes_.unlisted());
      } else {
        add_server_metrics(out_, sources_, tubes_);
      }
      return Step::Again;
    }
    if (!has_times_) {
      has_times_ = times_.step(times_out_, sources_.engine().measured_tubes());
      return Step::Again;
    }
    if (!is_listed_) {
      is_listed_ = tubes_.list();
      return Step::Again;
    }
    if (!families_.step(out_, tubes_.tubes())) return Step::Again;
    out_.append(times_out_);
    return Step::Whole;
  }
  bool is_apart() const override { return has_times_; }
  Response take() override { return response_of(out_, request_.open_metrics); }

 private:
  MetricSources& sources_;
  const MetricsRequest request_;
  MetricsWriter out_;
  MetricsWriter times_out_;
  TubeCollector tubes_;
  bool has_tubes_ = false;
  bool has_server_ = false;
  bool has_times_ = false;
  bool is_listed_ = false;
  TubeFamilies families_;
  TubeTimesFamilies times_;
};

// The lines "key: value" of a document whose values are numbers.
std::vector<std::pair<std::string, double>> numbers_of(std::string_view yaml) {
  std::vector<std::pair<std::string, double>> out;
  while (!yaml.empty()) {
    const size_t end = std::min(yaml.find('\n'), yaml.size());
    const std::string_view line = yaml.substr(0, end);
    yaml.remove_prefix(std::min(end + 1, yaml.size()));
    const size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    const std::string_view text = line.substr(colon + 2);
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) continue;
    std::string key(line.substr(0, colon));
    std::ranges::replace(key, '-', '_');
    out.emplace_back(std::move(key), value);
  }
  return out;
}

void add_old_head(std::string& out, std::string_view name, std::string_view command) {
  fmt::format_to(std::back_inserter(out), "# HELP {} As {} says.\n# TYPE {} gauge\n", name, command,
                 name);
}

// The names of messagebird's exporter of beanstalkd: every key, "-" as "_", all of them gauges, and
// "tube_" before those of tubes. Prometheus adds the instance.
class OldMetrics final : public Answer {
 public:
  OldMetrics(MetricSources& sources, const MetricsRequest& request)
      : sources_(sources), choice_(request.tubes), tubes_(choice_) {}

  Step step() override {
    if (!has_tubes_) {
      has_tubes_ = tubes_.step(sources_.engine());
      return Step::Again;
    }
    if (!has_server_) {
      has_server_ = true;
      const EngineStats stats = sources_.engine().statistics();
      for (const auto& [key, value] :
           numbers_of(wire::server_yaml(stats, sources_.process(), sources_.store()))) {
        add_old_head(server_, key, "stats");
        server_ += fmt::format("{} {}\n", key, value);
      }
      return Step::Again;
    }
    if (next_tube_ == Rows()) {
      if (tubes_.list()) next_tube_ = tubes_.tubes().begin();
      return Step::Again;
    }
    for (size_t count = 0;
         count < TubeCollector::tubes_per_step && *next_tube_ != tubes_.tubes().end(); ++count) {
      const auto& [name, tube] = **next_tube_;
      for (const auto& [key, value] : numbers_of(wire::tube_yaml(tube))) {
        families_["tube_" + key] += fmt::format("tube_{}{{tube=\"{}\"}} {}\n", key, name, value);
      }
      ++*next_tube_;
    }
    return *next_tube_ == tubes_.tubes().end() ? Step::Whole : Step::Again;
  }
  bool is_apart() const override { return has_server_; }
  Response take() override {
    Response out = {.content_type = "text/plain; version=0.0.4; charset=utf-8",
                    .body = std::move(server_)};
    for (const auto& [key, lines] : families_) {
      add_old_head(out.body, key, "stats-tube");
      out.body += lines;
    }
    return out;
  }

 private:
  using Rows = std::optional<std::map<std::string, TubeStats>::const_iterator>;

  MetricSources& sources_;
  const TubeChoice choice_;
  TubeCollector tubes_;
  bool has_tubes_ = false;
  bool has_server_ = false;
  Rows next_tube_;      // Without a value: tubes are not listed yet.
  std::string server_;  // The server's own keys come first.
  std::map<std::string, std::string> families_;
};

}  // namespace

std::unique_ptr<Answer> make_standby_metrics(MetricSources& sources, bool open_metrics) {
  MetricsWriter out(open_metrics);
  add_standby_metrics(out, sources);
  return answer_now(response_of(out, open_metrics));
}

std::unique_ptr<Answer> make_metrics(MetricSources& sources, const MetricsRequest& request) {
  if (request.names_of_beanstalkd) return std::make_unique<OldMetrics>(sources, request);
  return std::make_unique<Metrics>(sources, request);
}

}  // namespace perennial::http
