#include <cstdio>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/exit_codes.h"
#include "cmd/perennial/cluster/cluster_place.h"
#include "cmd/perennial/cluster/commands.h"
#include "cmd/perennial/cluster/status_table.h"
#include "engine/types/status.h"

namespace perennial::tool {
namespace {

struct ClusterStatusOptions {
  ClusterPlace place;
  bool json = false;
};

Result<ClusterReport> read_report(const perenniald::ClusterConfig& cluster) {
  const Result<std::unique_ptr<EtcdCalls>> etcd = EtcdCalls::open(cluster);
  if (!etcd.ok()) return etcd.status();
  Result<ClusterState> state = read_cluster_state(**etcd, store::cluster::Keys(cluster.name));
  if (!state.ok()) return state.take_status();
  ClusterReport report = {.name = cluster.name,
                          .state = state.take(),
                          .copies_min = cluster.copies_min,
                          .clock_offset_max_s = cluster.clock_offset_max_s,
                          .quota_bytes = cluster.etcd_quota_bytes};
  auto statuses = (*etcd)->member_statuses();
  for (size_t i = 0; i < statuses.size(); ++i) {
    report.members.push_back({cluster.etcd[i], std::move(statuses[i])});
  }
  return report;
}

// perennial cluster status: what etcd holds of a cluster, and how its members are. Prints it to
// standard output. Returns the exit status: 1 if something needs somebody.
Result<int> cluster_status(const ClusterStatusOptions& options) {
  const Result<perenniald::ClusterConfig> cluster = cluster_of(options.place);
  if (!cluster.ok()) return cluster.status();
  const Result<ClusterReport> report = read_report(*cluster);
  if (!report.ok()) return report.status();
  if (report->state.id.empty()) {
    return Status(StatusCode::NotFound,
                  fmt::format("etcd holds no cluster {}: the first node that starts with an empty "
                              "directory founds it, or `perennial cluster init`; if it was there, "
                              "see `perennial cluster recover`",
                              cluster->name));
  }
  if (options.json) {
    std::puts(status_json(*report)
                  .dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
                  .c_str());
  } else {
    fmt::print("{}", status_table(*report));
  }
  return cluster_warnings(*report).empty() ? common::exit_clean : common::exit_failed;
}

}  // namespace

Subcommand cluster_status_command() {
  const auto options = std::make_shared<ClusterStatusOptions>();
  return {
      .name = "cluster status",
      .summary = "Show the leader, the nodes and the log of a cluster, and its etcd",
      .about =
          "Reads etcd, and needs no node. It shows who leads, how far each node is, which entries "
          "the log has, and how the members of etcd are. A node publishes how far it is once a "
          "second; so under load all of them seem to be some entries behind. CLOCK is by how many "
          "seconds a node's wall clock is ahead of the cluster's time, to a second or two.\n\n"
          "A warning is what needs somebody: no node leads, or none that is there may lead; three "
          "nodes or more were elected in ten minutes; puts wait or are refused; a standby is 1,000 "
          "entries or more behind; fewer nodes than copies_min are there; a node was refused, "
          "because it holds what the log does not; the database of a node is damaged; settings of "
          "one are others than the leader's; a node has resigned; takeovers are paused; a node was "
          "asked for a repair and has not begun; a standby does not reach the leader at its "
          "peer_address; the nodes have different versions; the wall clock of one is off by more "
          "than clock_offset_max_s; the disk of one is nearly full; a member of etcd has raised an "
          "alarm, does not answer or has no leader; its database has more than half of "
          "etcd_quota_bytes.\n\n"
          "Exit code 0: no warning. 1: there are some, etcd does not answer within 3 s, or it "
          "holds no such cluster.",
      .examples =
          "  perennial cluster status\n"
          "  # From a machine without a node.\n"
          "  perennial cluster status --name jobs --etcd http://10.0.0.1:2379\n",
      .flags = cluster_flags(options->place, {{"--json", "", "Report as JSON", &options->json}}),
      .run_to_exit_status = [options] { return cluster_status(*options); },
  };
}

}  // namespace perennial::tool
