#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/cluster/cluster_place.h"
#include "cmd/perennial/cluster/cluster_state.h"
#include "cmd/perennial/cluster/commands.h"
#include "cmd/perennial/cluster/directory.h"
#include "cmd/perennial/cluster/etcd_calls.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "engine/types/status.h"

namespace perennial::tool {
namespace {

using store::Store;
using store::cluster::Keys;

struct ClusterInitOptions {
  ClusterPlace place;
  std::string data_dir;
  bool json = false;
};

// Whether this command has put the cluster into etcd, and was stopped before it reached the
// directory.
bool was_interrupted(const ClusterState& seen, const Store& store) {
  return seen.origin == store.identity() && seen.base == store.opening().last_index &&
         seen.entries == 0 && seen.leader_revision == 0;
}

Status check_fit(const ClusterState& seen, const Store& store, const std::string& cluster) {
  const std::string& path = store.options().data_dir;
  if (!store.cluster_id().empty()) {
    const bool is_same = store.cluster_id() == seen.id;
    return {StatusCode::InvalidArgument,
            fmt::format("{} belongs to {} (id {}) already{}", path,
                        is_same ? "cluster " + cluster : "a cluster", store.cluster_id(),
                        is_same ? ": start its node"
                                : "; if etcd was lost, see `perennial cluster recover`")};
  }
  if (seen.id.empty() || was_interrupted(seen, store)) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("etcd holds a cluster {} already (id {}): give this one another name "
                      "(cluster.name)",
                      cluster, printable(seen.id))};
}

void print_done(const std::string& cluster, const ClusterState& seen, const Store& store,
                bool json) {
  if (json) {
    return print_result({{"cluster", cluster},
                         {"id", seen.id},
                         {"data_dir", store.options().data_dir},
                         {"last_batch", store.opening().last_index}});
  }
  fmt::print("cluster    {}\nid         {}\ndirectory  {}\nlog        empty, after batch {}\n",
             cluster, seen.id, store.options().data_dir, with_commas(store.opening().last_index));
  fmt::print(
      "\nStart the node of this directory first: its jobs are the cluster's. The other nodes "
      "start\n"
      "with empty directories.\n");
}

// perennial cluster init: makes the directory of a single server the beginning of a cluster.
//
// etcd gets the cluster first, with the identity of the directory (`origin`), and then the
// directory gets the cluster's id. After a crash between the two no node can lead: an empty
// directory lacks what is before the base, and this one has no id. The command, run again, knows
// the directory by its identity and does the second step. In the other order a directory with an id
// that etcd does not know would look like one whose etcd was lost.
Status cluster_init(const ClusterInitOptions& options) {
  const Result<perenniald::ClusterConfig> cluster = cluster_of(options.place);
  if (!cluster.ok()) return cluster.status();
  const Result<std::unique_ptr<EtcdCalls>> etcd = EtcdCalls::open(*cluster);
  if (!etcd.ok()) return etcd.status();
  const Keys keys(cluster->name);
  Result<ClusterState> seen = read_cluster_state(**etcd, keys);
  if (!seen.ok()) return seen.status();
  const Result<std::unique_ptr<Store>> opened = open_directory(options.data_dir);
  if (!opened.ok()) return opened.status();
  Store& store = **opened;
  if (Status fit = check_fit(*seen, store, cluster->name); !fit.ok()) return fit;
  if (seen->id.empty()) {
    const NewLog log = {.id = random_identity(),
                        .origin = store.identity(),
                        .base = store.opening().last_index,
                        .epoch = seen->epoch};
    if (Status begun = begin_log(**etcd, keys, *seen, log); !begun.ok()) return begun;
    seen->id = log.id;
  }
  if (Status joined = store.join_cluster(seen->id); !joined.ok()) return joined;
  print_done(cluster->name, *seen, store, options.json);
  return store.close(store.opening().next_id);
}

}  // namespace

Subcommand cluster_init_command() {
  const auto options = std::make_shared<ClusterInitOptions>();
  return {
      .name = "cluster init",
      .summary = "Make the directory of a single server the beginning of a cluster",
      .about =
          "Gives the cluster an identity, puts it into etcd and into the data directory, and makes "
          "the log in etcd begin after the directory's last batch. Jobs, ids and everything else "
          "in the directory stay as they are. The server must be stopped. A cluster that begins "
          "without jobs needs no init: its first node founds it.\n\n"
          "It refuses a directory that belongs to a cluster, and a cluster that etcd holds "
          "already. If it is interrupted, run it again.\n\n"
          "Run it as the user that the server runs as, because the files are that user's alone.",
      .examples =
          "  systemctl stop perenniald\n"
          "  # With the section cluster in /etc/perennial/perennial.yaml.\n"
          "  perennial cluster init --data-dir /var/lib/perennial\n"
          "  systemctl start perenniald\n",
      .flags = cluster_flags(options->place, {{"--data-dir", "DIR", "The directory of the server",
                                               &options->data_dir, true},
                                              {"--json", "", "Report as JSON", &options->json}}),
      .run = [options] { return cluster_init(*options); },
  };
}

}  // namespace perennial::tool
