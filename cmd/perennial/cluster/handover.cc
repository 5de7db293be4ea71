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

using store::cluster::HandoverRecord;
using store::cluster::Keys;
using store::cluster::LeaderRecord;
using store::cluster::NodeRecord;
using store::cluster::Role;
using store::etcd::Compare;

struct HandoverOptions {
  ClusterPlace place;
  std::string to;  // Empty: the standby that comes first.
  std::chrono::seconds wait{30};
  bool json = false;
};

Status check_target(const ClusterState& state, const std::string& to) {
  const Result<NodeRecord> node = find_node(state, to);
  if (!node.ok()) return node.status();
  if (node->node == state.leader->node || node->role == Role::Leader) {
    return {StatusCode::InvalidArgument, to + " leads already"};
  }
  if (node->role == Role::Joining) {
    return {StatusCode::InvalidArgument, to + " is joining: wait until it is a standby"};
  }
  if (node->never_leads()) {
    return {StatusCode::InvalidArgument, to + " never leads: its priority is 0 (cluster.priority)"};
  }
  if (!state.maintenance.may_lead(*node)) {
    return {StatusCode::InvalidArgument,
            fmt::format("{} has resigned: `perennial cluster resign {} --end` takes that back", to,
                        to)};
  }
  if (state.may_lead(*node)) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("{} is {} entries behind: wait until it has caught up, or find out why it "
                      "does not",
                      to, with_commas(state.behind(*node)))};
}

Status check_state(const ClusterState& state, const HandoverOptions& options,
                   const std::string& cluster) {
  if (!state.leader) {
    return {StatusCode::NotFound,
            fmt::format("no node leads cluster {}, so there is nothing to hand over; see "
                        "`perennial cluster status`",
                        cluster)};
  }
  if (state.maintenance.is_paused()) return takeovers_are_paused(state);
  if (!options.to.empty()) return check_target(state, options.to);
  const bool has_standby =
      std::ranges::any_of(state.nodes, [&](const auto& node) { return state.may_lead(node); });
  if (has_standby) return {};
  return {StatusCode::NotFound,
          "no standby that may lead is up to date, so nobody would serve: start one, and look at "
          "it with `perennial cluster status`"};
}

Status ask(EtcdCalls& etcd, const Keys& keys, const ClusterState& state, const std::string& to) {
  const HandoverRecord record = {.epoch = state.leader->epoch, .to = to};
  store::etcd::Transaction transaction;
  transaction.conditions = {{.key = keys.leader(),
                             .field = Compare::Field::ModRevision,
                             .number = state.leader_revision}};
  transaction.then.emplace_back(
      store::etcd::Put{.key = keys.handover(), .value = store::cluster::encode(record)});
  const auto done = etcd.commit(transaction);
  if (!done.ok()) return done.status();
  if (done->held) return {};
  return {StatusCode::NotFound, "another node has become the leader meanwhile: nothing was asked"};
}

Status give_up(OpenCluster& cluster, const HandoverOptions& options) {
  const std::string leader = printable(cluster.state.leader->node);
  // So that it does not surprise anybody later.
  const Result<bool> was_there = remove_key(*cluster.etcd, cluster.keys.handover());
  if (!was_there.ok()) return was_there.status();
  if (*was_there) {
    return {StatusCode::Io, fmt::format("{} has not taken the request within {} s, so it was "
                                        "withdrawn: read its log",
                                        leader, options.wait.count())};
  }
  return {StatusCode::Io,
          fmt::format("{} has taken the request, and no other node leads after {} s: see "
                      "`perennial cluster status`, and read its log",
                      leader, options.wait.count())};
}

// perennial cluster handover: asks the leader to give up the lead, and waits for the next one.
Status cluster_handover(const HandoverOptions& options) {
  Result<OpenCluster> cluster = open_cluster(options.place);
  if (!cluster.ok()) return cluster.take_status();
  if (Status fit = check_state(cluster->state, options, cluster->config.name); !fit.ok()) {
    return fit;
  }
  NextLeader next(*cluster->etcd, cluster->keys, cluster->state.leader->epoch, !options.json);
  Status asked = ask(*cluster->etcd, cluster->keys, cluster->state, options.to);
  if (!asked.ok()) return asked;
  const Result<std::optional<LeaderRecord>> leader = next.wait(options.wait);
  if (!leader.ok()) return Status(leader.status()).with("the handover was asked for");
  if (!*leader) return give_up(*cluster, options);
  if (options.json) {
    print_result({{"cluster", cluster->config.name},
                  {"leader", (*leader)->node},
                  {"former_leader", cluster->state.leader->node},
                  {"epoch", (*leader)->epoch}});
  }
  if (options.to.empty() || options.to == (*leader)->node) return {};
  return {StatusCode::Io,
          fmt::format("{} was asked for and did not stand in time: read its log", options.to)};
}

}  // namespace

Subcommand cluster_handover_command() {
  const auto options = std::make_shared<HandoverOptions>();
  return {
      .name = "cluster handover",
      .summary = "Let another node of a cluster lead",
      .about =
          "Asks the leader to give up the lead, through etcd, and waits until another node leads. "
          "The leader stops to accept, lets everything that it accepted be committed and answered, "
          "and resigns. So nothing is lost, and nobody waits for a lease. Connections end, and "
          "reservations become ready jobs, as when a server restarts.\n\n"
          "Without --to the standby with the highest cluster.priority leads next; of several, the "
          "one that holds most. A standby that is 1,000 entries or more behind is refused, and so "
          "is a node that never leads or has resigned. The leader looks once a second.\n\n"
          "Exit code 0: another node leads, and the one of --to if there is one.",
      .examples =
          "  perennial cluster handover\n"
          "  # Before the machine of the leader is restarted.\n"
          "  perennial cluster handover --to b\n",
      .flags =
          cluster_flags(options->place, {{"--to", "NODE", "The node that shall lead", &options->to},
                                         wait_flag(options->wait),
                                         {"--json", "", "Report as JSON", &options->json}}),
      .run = [options] { return cluster_handover(*options); },
  };
}

}  // namespace perennial::tool
