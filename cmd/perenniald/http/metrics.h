#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perenniald/core/command_times.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/cluster_metrics.h"
#include "cmd/perenniald/http/http.h"
#include "cmd/perenniald/http/tube_metrics.h"
#include "engine/types/histogram.h"
#include "engine/types/stats.h"
#include "engine/view/engine_view.h"

// Metrics for Prometheus: OpenMetrics 1.0 where it is asked for, or else the text format 0.0.4.
// Names begin with perennial_, units are seconds and bytes, and no label but `tube` has values that
// clients choose.
namespace perennial::http {

// What is known outside of core. A number that is not known is 0.
struct ServerFacts {
  std::string rocksdb_version = {};
  std::string openssl_version = {};
  double start_time = 0;  // In seconds since the epoch.
  Nanos recovery_took = 0;
  uint64_t recovered_jobs = 0;
  uint64_t resident_bytes = 0;
  std::optional<uint64_t> descriptors_open = {};
  uint64_t descriptors_max = 0;
  uint64_t disk_free_bytes = 0;
  std::optional<uint64_t> disk_free_files = {};  // None: the file system has no limit.
  uint64_t disk_low_water_bytes = 0;             // Below it puts are refused. 0: never.
  uint64_t ended_removed_early = 0;              // Jobs, because the disk was short.
  access::AccessCounts access = {};
  core::AnswerCounts answers = {};
  uint64_t body_cache_bytes = 0;
  uint64_t bytes_in = 0;  // Of clients of the queue.
  uint64_t bytes_out = 0;
  core::Core::HeldConnections held = {};
  uint64_t commit_pending_bytes = 0;
  Nanos commit_oldest = 0;  // Since when the log has the batch that it writes; 0: it writes none.
  uint64_t handshakes_full = 0;
  uint64_t handshakes_resumed = 0;
  uint64_t handshakes_failed = 0;
  struct Certificate {
    std::string listener;    // Its address in the configuration.
    int64_t expires_at = 0;  // In seconds since the epoch.
  };
  std::vector<Certificate> certificates = {};
  struct Thread {
    std::string name;  // loop, io-0 and so on, http.
    Nanos cpu_time = 0;
    uint64_t connections = 0;  // Whose bytes it moves.
  };
  std::vector<Thread> threads = {};
  bool reload_success = true;
  double reload_time = 0;  // When these files could be used last, in seconds since the epoch.

  // What RocksDB says. The names outlive all of this.
  std::vector<std::pair<std::string_view, uint64_t>> tickers = {};
  struct Property {
    std::string_view name;
    std::string_view family = {};  // Empty: of the whole database.
    uint64_t value = 0;
  };
  std::vector<Property> properties = {};  // Those of a family come one after the other.
  uint64_t damaged_rows = 0;              // Blocks of tables with the state of the queue.
  uint64_t scrub_bytes = 0;               // Read again, since the start.
  uint64_t scrub_passes = 0;
  uint64_t log_bytes = 0;
  uint64_t body_bytes = 0;   // In tables.
  uint64_t state_bytes = 0;  // In tables: all but bodies.
};

// What the server may use at most. 0: it has no such limit.
struct ServerLimits {
  uint64_t connections_max = 0;
  uint64_t jobs_max = 0;
  uint64_t tubes_max = 0;
  uint64_t keys_max = 0;
  uint64_t memory_bytes_max = 0;
  uint64_t disk_low_water_bytes = 0;  // Puts are refused when less space than this is free.
};

// How long things took.
struct Times {
  const core::CommandTimes::Histograms& commands;
  const LatencyHistogram& turns;
  const LatencyHistogram& requests;
};

// What the metrics are made of. It is asked within a turn of the loop, and when there are jobs;
// before that only for what make_standby_metrics() shows.
// How many there are, and how many there may be with those that are waited for.
struct LeaseCounts {
  size_t given = 0;
  size_t max = 0;
};

class MetricSources {
 public:
  virtual ~MetricSources() = default;

  virtual engine::EngineView engine() = 0;
  virtual ProcessFacts process() = 0;
  virtual StoreFacts store() = 0;
  virtual ServerFacts server() = 0;
  virtual ServerLimits limits() = 0;  // Known at once.
  virtual Times times() = 0;
  virtual size_t memory_bytes() = 0;  // Of jobs, bodies and connections.
  virtual size_t output_bytes() = 0;  // Of answers that have not left.
  virtual bool accepts_puts() = 0;    // Whether the disk has space for jobs.
  virtual const Http::Counts& requests() = 0;
  virtual TubeChoice tubes() = 0;      // Of /metrics.
  virtual size_t event_streams() = 0;  // That are open.
  virtual LeaseCounts leases() = 0;    // Of jobs that are reserved over this port.
  // None: the server is part of no cluster.
  virtual std::optional<ClusterFacts> cluster_facts() = 0;
};

struct MetricsRequest {
  bool open_metrics = false;
  // With the names of the old exporter: every key of stats and stats-tube, all of them gauges.
  bool names_of_beanstalkd = false;
  bool tubes_only = false;  // Without the families of the server.
  TubeChoice tubes = {};
};

// `sources` outlives the answer.
std::unique_ptr<Answer> make_metrics(MetricSources& sources, const MetricsRequest& request);
// Of a node that has no jobs loaded: the families that say nothing of them. REQUIRES: the server is
// part of a cluster.
std::unique_ptr<Answer> make_standby_metrics(MetricSources& sources, bool open_metrics);

}  // namespace perennial::http
