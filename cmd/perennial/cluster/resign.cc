#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/cluster/cluster_place.h"
#include "cmd/perennial/cluster/commands.h"
#include "cmd/perennial/cluster/expiring_key.h"
#include "cmd/perennial/cluster/next_leader.h"
#include "cmd/perennial/cluster/open_cluster.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "engine/types/status.h"

namespace perennial::tool {
namespace {

using store::cluster::LeaderRecord;
using store::cluster::NodeRecord;

struct ResignOptions {
  ClusterPlace place;
  std::string node;                          // Empty: the leader.
  std::optional<std::chrono::seconds> time;  // Set, unless `end` is.
  bool end = false;
  bool force = false;
  std::chrono::seconds wait{30};
  bool json = false;
};

Status check_options(const ResignOptions& options) {
  if (options.end == options.time.has_value()) {
    return {StatusCode::InvalidArgument,
            "say either for how long with --for DURATION, or --end, which takes it back"};
  }
  if (!options.end || !options.node.empty()) return {};
  return {StatusCode::InvalidArgument, "--end needs the node"};
}

Result<std::string> node_of(const ResignOptions& options, const OpenCluster& cluster) {
  if (!options.node.empty()) return options.node;
  if (cluster.state.leader) return cluster.state.leader->node;
  return Status(StatusCode::NotFound, "no node leads: name the one that shall not lead");
}

bool is_leader(const OpenCluster& cluster, const std::string& node) {
  return cluster.state.leader && cluster.state.leader->node == node;
}

// Whether somebody serves meanwhile, or would.
bool may_another_lead(const ClusterState& state, const std::string& node) {
  return std::ranges::any_of(state.nodes, [&](const NodeRecord& other) {
    const bool leads_on = state.leader && other.node == state.leader->node;
    return other.node != node &&
           (leads_on ? state.maintenance.may_lead(other) : state.may_lead(other));
  });
}

Status check_state(const OpenCluster& cluster, const std::string& node) {
  if (const Result<NodeRecord> found = find_node(cluster.state, node); !found.ok()) {
    return Status(found.status()).with("--force is for one that comes later");
  }
  if (may_another_lead(cluster.state, node)) return {};
  return {StatusCode::NotFound,
          fmt::format("no other node may lead and is up to date, so nobody would serve without {}; "
                      "start one, and look at it with `perennial cluster status`, or use --force",
                      node)};
}

Status take_back(OpenCluster& cluster, const std::string& node, bool json) {
  const Result<bool> was_there = remove_key(*cluster.etcd, cluster.keys.resignation(node));
  if (!was_there.ok()) return was_there.status();
  if (!*was_there) return {StatusCode::NotFound, node + " has not resigned"};
  if (json) {
    print_result({{"cluster", cluster.config.name}, {"node", node}, {"resigned", false}});
  } else {
    fmt::print("{} may lead again\n", node);
  }
  return {};
}

// Returns the next leader's name.
Result<std::string> wait_for_next(OpenCluster& cluster, const ResignOptions& options,
                                  const std::string& node) {
  NextLeader next(*cluster.etcd, cluster.keys, cluster.state.leader->epoch, !options.json);
  const Result<std::optional<LeaderRecord>> leader = next.wait(options.wait);
  if (!leader.ok()) return Status(leader.status()).with(node + " was asked to resign");
  if (*leader) return (*leader)->node;
  return Status(StatusCode::Io,
                fmt::format("{} was asked, and no other node leads after {} s: see `perennial "
                            "cluster status`, and read its log; `perennial cluster resign {} "
                            "--end` takes it back",
                            node, options.wait.count(), node));
}

// perennial cluster resign: a node does not lead for a while, and hands over if it does.
Status cluster_resign(const ResignOptions& options) {
  if (Status fit = check_options(options); !fit.ok()) return fit;
  Result<OpenCluster> cluster = open_cluster(options.place);
  if (!cluster.ok()) return cluster.take_status();
  const Result<std::string> node = node_of(options, *cluster);
  if (!node.ok()) return node.status();
  if (options.end) return take_back(*cluster, *node, options.json);
  if (is_leader(*cluster, *node) && cluster->state.maintenance.is_paused()) {
    return takeovers_are_paused(cluster->state);
  }
  Status fit = check_state(*cluster, *node);
  if (!fit.ok() && !options.force) return fit;
  const Result<uint64_t> left = put_for(*cluster->etcd, cluster->keys.resignation(*node), *node,
                                        static_cast<uint64_t>(options.time->count()));
  if (!left.ok()) return left.status();
  if (!options.json) fmt::print("{} does not lead for {}\n", *node, duration_text(*left));
  Result<std::string> leader = std::string();
  if (!is_leader(*cluster, *node)) {
    if (cluster->state.leader) leader = cluster->state.leader->node;
  } else if (fit.ok()) {
    leader = wait_for_next(*cluster, options, *node);
  }
  if (options.json) {
    nlohmann::ordered_json out = {{"cluster", cluster->config.name},
                                  {"node", *node},
                                  {"resigned", true},
                                  {"left_seconds", *left},
                                  {"leader", nullptr}};
    if (leader.ok() && !leader->empty()) out["leader"] = *leader;
    print_result(out);
  }
  return leader.ok() ? Status() : leader.status();
}

}  // namespace

Subcommand cluster_resign_command() {
  const auto options = std::make_shared<ResignOptions>();
  return {
      .name = "cluster resign",
      .summary = "Let a node of a cluster not lead for a while",
      .about =
          "Before work on a machine: its node does not lead for that time, also when it is "
          "restarted meanwhile. If it leads, it hands over now, as with `perennial cluster "
          "handover`, and the command waits until another node leads. It follows the log all the "
          "time. `perennial cluster status` warns as long as it lasts, and says for how long "
          "still.\n\n"
          "It ends by itself: its key in etcd hangs on a lease. An election of etcd, as when one "
          "of its members is restarted, gives that lease its whole time again. --end takes it "
          "back.\n\n"
          "Where no other node that may lead is up to date, it is refused; with --force nobody "
          "serves meanwhile. The leader does not resign "
          "while takeovers are paused.",
      .examples =
          "  # The leader, for an hour.\n"
          "  perennial cluster resign --for 1h\n"
          "  perennial cluster resign b --for 1h\n"
          "  perennial cluster resign b --end\n",
      .flags =
          cluster_flags(options->place,
                        {{"NODE", "NODE", "The node; without it, the leader", &options->node},
                         {.name = "--for",
                          .value = "DURATION",
                          .help = "For how long",
                          .target = &options->time,
                          .lowest = for_s_min,
                          .highest = for_s_max},
                         {"--end", "", "Take it back: the node may lead again", &options->end},
                         {"--force", "", "Also where nobody would serve, or the node is not there",
                          &options->force},
                         wait_flag(options->wait),
                         {"--json", "", "Report as JSON", &options->json}}),
      .run = [options] { return cluster_resign(*options); },
  };
}

}  // namespace perennial::tool
