#include "cmd/perenniald/http/cluster_metrics.h"

namespace perennial::http {

void add_cluster(MetricsWriter& out, const ClusterFacts& cluster) {
  out.family("perennial_cluster_role", MetricType::Gauge, "",
             "1 for what this node is: the leader, whose lease is not over, or a standby.");
  out.sample(cluster.leads ? 1 : 0, {{"role", "leader"}});
  out.sample(cluster.leads ? 0 : 1, {{"role", "standby"}});
  out.single("perennial_cluster_has_leader", MetricType::Gauge, "",
             "1 while some node leads, for all that this node knows.", cluster.has_leader ? 1 : 0);
  out.single("perennial_cluster_epoch", MetricType::Gauge, "",
             "The epoch of the newest leader. It is raised with each.", cluster.epoch);
  out.family("perennial_cluster_log_index", MetricType::Gauge, "",
             "The newest entry of the log that this node has read, has applied to its database, "
             "and has on its disk.");
  out.sample(cluster.newest, {{"stage", "read"}});
  out.sample(cluster.applied, {{"stage", "applied"}});
  out.sample(cluster.flushed, {{"stage", "flushed"}});
  out.single("perennial_cluster_forwarded_connections", MetricType::Gauge, "",
             "Clients that this node passes on to the leader.", cluster.forwarded);
  out.single("perennial_cluster_circles", MetricType::Counter, "",
             "Clients that this node has refused, because standbys passed them on in a circle: the "
             "leader's client_address leads to a standby.",
             cluster.circles);
  out.single(
      "perennial_cluster_clock_ahead_seconds", MetricType::Gauge, "seconds",
      "How far the wall clock of this node's machine is ahead of the cluster's time, or of the "
      "median of all nodes while nobody has led; below zero: behind.",
      in_seconds(cluster.clock_ahead));
  out.single("perennial_cluster_appends_failing", MetricType::Gauge, "",
             "1 while this node leads and etcd has taken no entry of its log for 5 seconds.",
             cluster.appends_fail ? 1 : 0);
  out.family("perennial_cluster_etcd_alarms", MetricType::Gauge, "",
             "Members of etcd that have raised this alarm, as the leader sees it, and while nobody "
             "leads, each node.");
  out.sample(cluster.alarms_no_space, {{"alarm", "NOSPACE"}});
  out.sample(cluster.alarms_corrupt, {{"alarm", "CORRUPT"}});
  out.single("perennial_cluster_standbys", MetricType::Gauge, "",
             "Nodes that follow this leader; 0 at a standby.", cluster.standbys);
  out.single("perennial_cluster_standby_lag_entries", MetricType::Gauge, "",
             "Entries of the log that the standby furthest behind has not applied, as each tells "
             "every second; 0 at a standby.",
             cluster.standby_lag);
  out.single(
      "perennial_cluster_settings_differ", MetricType::Gauge, "",
      "Settings of this node that are others than the leader's, and which clients would meet "
      "if it led.",
      cluster.settings_differ);
  out.family("perennial_cluster_append_seconds", MetricType::Histogram, "seconds",
             "From the append of a batch until a majority of etcd had it, while this node led.");
  out.histogram(cluster.appends.view(), nanos_to_seconds);
}

}  // namespace perennial::http
