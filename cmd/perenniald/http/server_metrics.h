#pragma once

#include "cmd/perenniald/http/metrics.h"
#include "cmd/perenniald/http/metrics_writer.h"
#include "cmd/perenniald/http/tube_metrics.h"

namespace perennial::http {

// Writes the families that have no series for each tube. `tubes` has looked at all tubes.
void add_server_metrics(MetricsWriter& out, MetricSources& sources, const TubeCollector& tubes);

// Writes those of them that say nothing of jobs, of a node that has none loaded.
void add_standby_metrics(MetricsWriter& out, MetricSources& sources);

}  // namespace perennial::http
