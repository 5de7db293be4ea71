#pragma once

#include <cstdint>

#include "cmd/perenniald/http/metrics_writer.h"
#include "engine/types/basic.h"
#include "engine/types/histogram.h"

namespace perennial::http {

// What a node knows of itself and of the cluster's log.
struct ClusterFacts {
  bool leads = false;
  bool has_leader = false;    // Somebody leads.
  uint64_t epoch = 0;         // Of the newest leader that it has heard of.
  BatchIndex newest = 0;      // The newest entry of the log that it has read.
  BatchIndex applied = 0;     // Of these, what its database holds,
  BatchIndex flushed = 0;     // and what its disk holds.
  uint64_t forwarded = 0;     // Clients that it passes on.
  uint64_t circles = 0;       // Clients that it has refused: passed on in a circle.
  Nanos clock_ahead = 0;      // Of its wall clock, of the cluster's time. Below zero: behind.
  bool appends_fail = false;  // This leader's, for append_patience.
  // Members of etcd that have raised these alarms, as the leader sees it.
  uint64_t alarms_no_space = 0;
  uint64_t alarms_corrupt = 0;
  uint64_t standbys = 0;         // Nodes that follow this leader,
  uint64_t standby_lag = 0;      // and what the one furthest behind has not applied.
  uint64_t settings_differ = 0;  // So many settings of this node are others than the leader's.
  LatencyHistogram appends = {};
};

// Writes the families of a node of a cluster.
void add_cluster(MetricsWriter& out, const ClusterFacts& cluster);

}  // namespace perennial::http
