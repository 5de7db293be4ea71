#include <cstdint>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/cluster/cluster_place.h"
#include "cmd/perennial/cluster/commands.h"
#include "cmd/perennial/cluster/expiring_key.h"
#include "cmd/perennial/cluster/open_cluster.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "engine/types/status.h"

namespace perennial::tool {
namespace {

using store::cluster::PauseRecord;
using store::etcd::Compare;

struct ClusterPauseOptions {
  ClusterPlace place;
  std::chrono::seconds time{0};
  bool json = false;
};

struct ClusterResumeOptions {
  ClusterPlace place;
  bool json = false;
};

// perennial cluster pause: no other node leads for a while, whatever becomes of the leader.
Status cluster_pause(const ClusterPauseOptions& options) {
  const Result<OpenCluster> cluster = open_cluster(options.place);
  if (!cluster.ok()) return cluster.status();
  const ClusterState& state = cluster->state;
  if (!state.leader) {
    return {StatusCode::NotFound,
            "no node leads, and none would: see `perennial cluster status`, and pause takeovers "
            "when one leads"};
  }
  const std::string& leader = state.leader->node;
  if (state.maintenance.resigned.contains(leader)) {
    return {StatusCode::InvalidArgument,
            fmt::format("{} has resigned, and gives up the lead: wait until another node leads",
                        printable(leader))};
  }
  const PauseRecord record = {.node = leader, .directory = state.leader->directory};
  const Result<uint64_t> left =
      put_for(*cluster->etcd, cluster->keys.pause(), store::cluster::encode(record),
              static_cast<uint64_t>(options.time.count()),
              {{.key = cluster->keys.leader(),
                .field = Compare::Field::ModRevision,
                .number = state.leader_revision}});
  if (!left.ok()) return left.status();
  if (options.json) {
    print_result({{"cluster", cluster->config.name},
                  {"paused", true},
                  {"leader", leader},
                  {"left_seconds", *left}});
    return {};
  }
  fmt::print("takeovers are paused for {}: only {} may lead\n", duration_text(*left),
             printable(leader));
  return {};
}

// perennial cluster resume: ends that.
Status cluster_resume(const ClusterResumeOptions& options) {
  const Result<OpenCluster> cluster = open_cluster(options.place);
  if (!cluster.ok()) return cluster.status();
  const Result<bool> was_there = remove_key(*cluster->etcd, cluster->keys.pause());
  if (!was_there.ok()) return was_there.status();
  if (!*was_there) return {StatusCode::NotFound, "takeovers are not paused"};
  if (options.json) {
    print_result({{"cluster", cluster->config.name}, {"paused", false}});
  } else {
    fmt::print("takeovers are not paused any more\n");
  }
  return {};
}

}  // namespace

Subcommand cluster_pause_command() {
  const auto options = std::make_shared<ClusterPauseOptions>();
  return {
      .name = "cluster pause",
      .summary = "Let no other node of a cluster take over for a while",
      .about =
          "For work on the network, when the nodes lose each other and nothing is wrong with the "
          "leader: for that time no other node leads, whatever they see. If the leader "
          "ends, nobody serves until it is started again, which then leads at once, or until the "
          "pause is over. Handovers are refused meanwhile, also those of a leader whose disk is "
          "nearly full. `perennial cluster status` warns as long as it lasts, and says for how "
          "long still.\n\n"
          "It ends by itself: its key in etcd hangs on a lease. An election of etcd gives that "
          "lease its whole time again. `perennial cluster resume` ends it.\n\n"
          "A leader that is cut off from etcd for longer than its lease ends all the same.",
      .examples =
          "  # While a switch is replaced, half an hour at most.\n"
          "  perennial cluster pause --for 30m\n"
          "  perennial cluster resume\n",
      .flags = cluster_flags(options->place, {{.name = "--for",
                                               .value = "DURATION",
                                               .help = "For how long",
                                               .target = &options->time,
                                               .required = true,
                                               .lowest = for_s_min,
                                               .highest = for_s_max},
                                              {"--json", "", "Report as JSON", &options->json}}),
      .run = [options] { return cluster_pause(*options); },
  };
}

Subcommand cluster_resume_command() {
  const auto options = std::make_shared<ClusterResumeOptions>();
  return {
      .name = "cluster resume",
      .summary = "Let nodes of a cluster take over again",
      .about =
          "Ends what `perennial cluster pause` began. Where no node leads, the standbys stand "
          "within a second.",
      .examples = "  perennial cluster resume\n",
      .flags = cluster_flags(options->place, {{"--json", "", "Report as JSON", &options->json}}),
      .run = [options] { return cluster_resume(*options); },
  };
}

}  // namespace perennial::tool
