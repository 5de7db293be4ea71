#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/common/tool/quiet.h"
#include "cmd/perennial/cluster/cluster_place.h"
#include "cmd/perennial/cluster/commands.h"
#include "cmd/perennial/cluster/expiring_key.h"
#include "cmd/perennial/cluster/open_cluster.h"
#include "cmd/perennial/cluster/status_table.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "engine/types/status.h"

namespace perennial::tool {
namespace {

using std::chrono::steady_clock;
using store::cluster::CopyRecord;
using store::cluster::NodeRecord;
using store::cluster::Role;

struct ClusterRepairOptions {
  ClusterPlace place;
  std::string node;
  bool end = false;
  std::chrono::seconds wait{0};  // 0: the command does not wait.
  bool json = false;
};

constexpr auto progress_interval = std::chrono::milliseconds(200);
// A process that has taken the request ends within a second.
constexpr auto settling_time = std::chrono::seconds(3);

Status check_leader(const ClusterState& state, const std::string& node) {
  if (state.maintenance.is_paused()) return takeovers_are_paused(state);
  const bool has_next = std::ranges::any_of(
      state.nodes, [&](const NodeRecord& other) { return state.may_lead(other); });
  if (has_next) return {};
  return {
      StatusCode::NotFound,
      fmt::format("{} leads, and no standby that may lead is up to date: see `perennial cluster "
                  "status`",
                  node)};
}

Status check_repair(const ClusterState& state, const std::string& node) {
  const NodeRecord* const found = state.find_node(node);
  const BatchIndex applied = found == nullptr ? state.last : found->applied;
  const bool has_copy = std::ranges::any_of(state.nodes, [&](const NodeRecord& other) {
    return other.node != node && !state.repairs.contains(other.node) && other.has_copy_for(applied);
  });
  if (!has_copy) {
    return {
        StatusCode::NotFound,
        fmt::format("no other node with a peer_address holds as much as {}, so there is nothing "
                    "to copy: see `perennial cluster status`",
                    node)};
  }
  if (std::ranges::find(state.copies, node, &CopyRecord::node) != state.copies.end()) {
    return {StatusCode::InvalidArgument, node + " gets a copy already"};
  }
  return found != nullptr && found->role == Role::Leader ? check_leader(state, node) : Status();
}

Status end_repair(const OpenCluster& cluster, const std::string& node, bool json) {
  const Result<bool> was_there = remove_key(*cluster.etcd, cluster.keys.repair(node));
  if (!was_there.ok()) return was_there.status();
  if (!*was_there) {
    return {StatusCode::NotFound,
            fmt::format("{} was not asked for a repair, or has begun already", node)};
  }
  if (json) {
    print_result({{"cluster", cluster.config.name}, {"node", node}, {"asked", false}});
  } else {
    fmt::print("{} keeps its database\n", node);
  }
  return {};
}

// Follows a repair, and prints each step: with --json on standard error, unless it is to be quiet.
class RepairProgress {
 public:
  RepairProgress(const OpenCluster& cluster, std::string node, std::FILE* out)
      : cluster_(cluster), node_(std::move(node)), out_(out) {
    const NodeRecord* const before = cluster.state.find_node(node_);
    if (before != nullptr) former_directory_ = before->directory;
  }

  // Until the node is a standby, or leads, with its new database.
  Status wait(std::chrono::seconds limit) {
    while (steady_clock::now() - begun_ < limit) {
      const Result<ClusterState> state = cluster_.read();
      if (!state.ok()) return Status(state.status()).with("the repair was asked for");
      if (is_done(*state)) return {};
      std::this_thread::sleep_for(progress_interval);
    }
    return {StatusCode::Io, fmt::format("{} is not repaired after {} s: read its log; the repair "
                                        "goes on",
                                        node_, limit.count())};
  }

 private:
  bool is_done(const ClusterState& state) {
    const NodeRecord* const node = state.find_node(node_);
    const auto copy = std::ranges::find(state.copies, node_, &CopyRecord::node);
    if (state.repairs.contains(node_)) {
      if (node != nullptr && former_directory_.empty()) former_directory_ = node->directory;
      if (node == nullptr) say("is down, and begins when it is started");
      if (node != nullptr && node->role == Role::Leader) say("hands over first");
    } else if (copy != state.copies.end()) {
      say(copying_text(*copy) + (copy->from.empty() ? "" : " from " + printable(copy->from)));
    } else if (node != nullptr && node->role != Role::Joining && is_new(*node)) {
      say(fmt::format("is a {} with a new copy, {:.1f} s after the request", name_of(node->role),
                      std::chrono::duration<double>(steady_clock::now() - begun_).count()));
      return true;
    }
    return false;
  }

  // Where the former directory was never seen, it is the new one that stays.
  bool is_new(const NodeRecord& node) {
    if (!former_directory_.empty()) return node.directory != former_directory_;
    if (std::exchange(seen_directory_, node.directory) != node.directory) {
      seen_since_ = steady_clock::now();
    }
    return steady_clock::now() - seen_since_ >= settling_time;
  }

  void say(const std::string& what) {
    if (std::exchange(said_, what) == what) return;
    if (out_ == stderr && is_quiet()) return;
    fmt::print(out_, "{}: {}\n", node_, what);
    std::fflush(out_);
  }

  const OpenCluster& cluster_;
  const std::string node_;
  std::FILE* const out_;
  const steady_clock::time_point begun_ = steady_clock::now();
  std::string former_directory_;  // Empty: not known.
  std::string seen_directory_;
  steady_clock::time_point seen_since_;
  std::string said_;
};

// perennial cluster repair: a node gets a copy of another node's database.
Status cluster_repair(const ClusterRepairOptions& options) {
  const Result<OpenCluster> cluster = open_cluster(options.place);
  if (!cluster.ok()) return cluster.status();
  const std::string& node = options.node;
  if (options.end) return end_repair(*cluster, node, options.json);
  if (Status fit = check_repair(cluster->state, node); !fit.ok()) return fit;
  store::etcd::Transaction ask;
  // The identity tells the node whether it has taken this request before.
  ask.then.emplace_back(
      store::etcd::Put{.key = cluster->keys.repair(node), .value = random_identity()});
  const auto asked = cluster->etcd->commit(ask);
  if (!asked.ok()) return asked.status();
  const bool waits = options.wait.count() != 0;
  RepairProgress progress(*cluster, node, options.json ? stderr : stdout);
  Status repaired = waits ? progress.wait(options.wait) : Status();
  if (options.json) {
    print_result({{"cluster", cluster->config.name},
                  {"node", node},
                  {"asked", true},
                  {"repaired", waits && repaired.ok()}});
  }
  if (options.json || waits) return repaired;
  if (cluster->state.find_node(node) != nullptr) {
    fmt::print("{} gets a copy of another node's database; `perennial cluster status` shows it\n",
               node);
  } else {
    fmt::print("{} is not there: it gets a copy of another node's database when it is started\n",
               node);
  }
  return {};
}

}  // namespace

Subcommand cluster_repair_command() {
  const auto options = std::make_shared<ClusterRepairOptions>();
  return {
      .name = "cluster repair",
      .summary = "Let a node of a cluster get a copy of another node's database",
      .about =
          "For a node whose database is damaged, or is not trusted any more: `perennial cluster "
          "verify` or `perennial check` has found something. The node takes the request within a "
          "second, ends with exit code 76, and gets the copy when its supervisor starts it again, "
          "as after damage that it finds itself. Its old database stays until the copy is whole "
          "and verified. A leader hands over first. A node that is down takes the request when it "
          "starts. It is done once.\n\n"
          "It is refused where no other node that has a peer_address holds as much, and the node "
          "itself waits for such a node. --end takes back a request that the node has not taken.",
      .examples =
          "  perennial cluster repair b --wait 1h\n"
          "  perennial cluster repair b --end\n",
      .flags = cluster_flags(
          options->place,
          {{"NODE", "NODE", "The node", &options->node, true},
           {"--end", "", "Take the request back", &options->end},
           {.name = "--wait",
            .value = "DURATION",
            .help = "Wait until the node is a standby again, and show how far it is; 0: do not",
            .target = &options->wait,
            .highest = uint64_t{7} * 24 * 3600},
           {"--json", "", "Report as JSON", &options->json}}),
      .run = [options] { return cluster_repair(*options); },
  };
}

}  // namespace perennial::tool
