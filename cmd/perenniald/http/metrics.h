#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/http.h"
#include "engine/engine.h"
#include "engine/types/stats.h"

// Metrics for Prometheus: OpenMetrics 1.0 where it is asked for, or else the text format 0.0.4.
// Names begin with perennial_, units are seconds and bytes, and no label but `tube` has values that
// clients choose.
namespace perennial::http {

// What the metrics are made of.
struct MetricSources {
  const engine::Engine& engine;
  std::function<ProcessFacts()> process;
  std::function<StoreFacts()> store;
  std::function<size_t()> memory_bytes;  // Of jobs, bodies and connections.
  std::function<size_t()> output_bytes;  // Of answers that have not left.
  std::function<bool()> accepts_puts;    // Whether the disk has space for jobs.
  std::function<const Http::Counts&()> requests;
};

struct MetricsRequest {
  bool open_metrics = false;
  // With the names of the old exporter: every key of stats and stats-tube, all of them gauges.
  bool names_of_beanstalkd = false;
  // The tubes that were created first have series of their own; the others are one, "{other}".
  size_t tubes_max = 1000;
};

// `sources` outlives the answer.
std::unique_ptr<Answer> make_metrics(const MetricSources& sources, const MetricsRequest& request);

}  // namespace perennial::http
