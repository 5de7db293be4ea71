#include "cmd/perennial/cluster/handover.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/perennial/cluster/cluster_state.h"
#include "cmd/perennial/cluster/etcd_calls.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

using std::chrono::steady_clock;
using store::cluster::HandoverRecord;
using store::cluster::Keys;
using store::cluster::LeaderRecord;
using store::cluster::NodeRecord;
using store::cluster::Role;
using store::etcd::Compare;

constexpr auto look_interval = std::chrono::milliseconds(20);

bool may_lead(const ClusterState& state, const NodeRecord& node) {
  return node.role == Role::Standby && state.behind(node) < entries_behind_max;
}

Status check_target(const ClusterState& state, const std::string& to) {
  const NodeRecord* const node = state.find_node(to);
  if (node == nullptr) {
    std::vector<std::string> names;
    for (const NodeRecord& other : state.nodes) names.push_back(printable(other.node));
    return {StatusCode::InvalidArgument,
            fmt::format("there is no node {}; there are: {}", to, fmt::join(names, ", "))};
  }
  if (node->node == state.leader->node || node->role == Role::Leader) {
    return {StatusCode::InvalidArgument, to + " leads already"};
  }
  if (node->role == Role::Joining) {
    return {StatusCode::InvalidArgument, to + " is joining: wait until it is a standby"};
  }
  if (may_lead(state, *node)) return {};
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
  if (!options.to.empty()) return check_target(state, options.to);
  const bool has_standby =
      std::ranges::any_of(state.nodes, [&](const auto& node) { return may_lead(state, node); });
  if (has_standby) return {};
  return {StatusCode::NotFound,
          "no standby is up to date, so nobody would serve: start one, and look at it with "
          "`perennial cluster status`"};
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

// So that it does not surprise anybody later. Returns whether it was still there.
Result<bool> withdraw(EtcdCalls& etcd, const Keys& keys) {
  store::etcd::Transaction transaction;
  transaction.conditions = {{.key = keys.handover(), .is = Compare::Is::NotEqual, .number = 0}};
  transaction.then.emplace_back(store::etcd::Delete{{.key = keys.handover(), .end = {}}});
  const auto done = etcd.commit(transaction);
  if (!done.ok()) return done.status();
  return done->held;
}

Result<std::optional<LeaderRecord>> read_leader(EtcdCalls& etcd, const Keys& keys) {
  store::etcd::Transaction read;
  read.then.emplace_back(store::etcd::Get{.range = {.key = keys.leader(), .end = {}}});
  const auto done = etcd.commit(read);
  if (!done.ok()) return done.status();
  const auto& found = done->gets.at(0).keys;
  return found.empty() ? std::nullopt : store::cluster::decode_leader(found[0].value);
}

double seconds_since(steady_clock::time_point begun) {
  return std::chrono::duration<double>(steady_clock::now() - begun).count();
}

class Wait {
 public:
  Wait(EtcdCalls& etcd, const Keys& keys, const ClusterState& before,
       const HandoverOptions& options)
      : etcd_(etcd), keys_(keys), before_(before), options_(options) {}

  // Until another epoch has a leader. Prints who it is.
  Status run() {
    while (seconds_since(begun_) < static_cast<double>(options_.wait_s)) {
      const Result<std::optional<LeaderRecord>> leader = read_leader(etcd_, keys_);
      if (!leader.ok()) return Status(leader.status()).with("the handover was asked for");
      if (*leader && (*leader)->epoch != before_.leader->epoch) return report(**leader);
      if (!*leader && !is_gone_) {
        is_gone_ = true;
        gone_at_ = steady_clock::now();
      }
      std::this_thread::sleep_for(look_interval);
    }
    return give_up();
  }

 private:
  Status report(const LeaderRecord& leader) const {
    fmt::print("{} leads, epoch {}, {:.2f} s after the request", printable(leader.node),
               leader.epoch, seconds_since(begun_));
    if (is_gone_) fmt::print("; for {:.2f} s of them no node led", seconds_since(gone_at_));
    fmt::print("\n");
    if (options_.to.empty() || options_.to == leader.node) return {};
    return {StatusCode::Io,
            fmt::format("{} was asked for and did not stand in time: read its log", options_.to)};
  }

  Status give_up() const {
    const Result<bool> was_there = withdraw(etcd_, keys_);
    if (!was_there.ok()) return was_there.status();
    if (*was_there) {
      return {StatusCode::Io, fmt::format("{} has not taken the request within {} s, so it was "
                                          "withdrawn: read its log",
                                          printable(before_.leader->node), options_.wait_s)};
    }
    return {StatusCode::Io,
            fmt::format("{} has taken the request, and no other node leads after {} s: see "
                        "`perennial cluster status`",
                        printable(before_.leader->node), options_.wait_s)};
  }

  EtcdCalls& etcd_;
  const Keys& keys_;
  const ClusterState& before_;
  const HandoverOptions& options_;
  const steady_clock::time_point begun_ = steady_clock::now();
  bool is_gone_ = false;
  steady_clock::time_point gone_at_ = begun_;  // Since when no node led.
};

}  // namespace

Status cluster_handover(const HandoverOptions& options) {
  const Result<perenniald::ClusterConfig> cluster = cluster_of(options.place);
  if (!cluster.ok()) return cluster.status();
  const Result<std::unique_ptr<EtcdCalls>> etcd = EtcdCalls::open(*cluster);
  if (!etcd.ok()) return etcd.status();
  const Keys keys(cluster->name);
  const Result<ClusterState> before = read_cluster_state(**etcd, keys);
  if (!before.ok()) return before.status();
  if (Status fit = check_state(*before, options, cluster->name); !fit.ok()) return fit;
  Wait wait(**etcd, keys, *before, options);
  if (Status asked = ask(**etcd, keys, *before, options.to); !asked.ok()) return asked;
  return wait.run();
}

Subcommand cluster_handover_command(HandoverOptions& options) {
  return {
      .name = "cluster handover",
      .summary = "Let another node of a cluster lead",
      .about =
          "Asks the leader to give up the lead, through etcd, and waits until another node leads. "
          "The leader stops to accept, lets everything that it accepted be committed and answered, "
          "and resigns. So nothing is lost, and nobody waits for a lease. Connections end, and "
          "reservations become ready jobs, as when a server restarts.\n\n"
          "Without --to the standby that holds most leads next. A standby that is 1,000 entries "
          "or more behind is refused. The leader looks once a second.\n\n"
          "Exit code 0: another node leads, and the one of --to if there is one.",
      .examples =
          "  perennial cluster handover\n"
          "  # Before the machine of the leader is restarted.\n"
          "  perennial cluster handover --to b\n",
      .flags =
          cluster_flags(options.place, {{"--to", "NODE", "The node that shall lead", &options.to},
                                        {.name = "--wait",
                                         .value = "SECONDS",
                                         .help = "How long to wait until another node leads",
                                         .target = &options.wait_s,
                                         .lowest = 1,
                                         .highest = 3600}}),
      .run = [&options] { return cluster_handover(options); },
  };
}

}  // namespace perennial::tool
