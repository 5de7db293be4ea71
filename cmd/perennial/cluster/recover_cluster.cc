#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/cluster/cluster_place.h"
#include "cmd/perennial/cluster/cluster_state.h"
#include "cmd/perennial/cluster/commands.h"
#include "cmd/perennial/cluster/directory.h"
#include "cmd/perennial/cluster/etcd_calls.h"
#include "cmd/perennial/output/json.h"
#include "cmd/perennial/output/readable.h"
#include "engine/types/status.h"
#include "store/batch/batch.h"
#include "store/cluster/entry.h"
#include "store/format/skipped_ids.h"

namespace perennial::tool {
namespace {

using store::Store;
using store::cluster::CopyRecord;
using store::cluster::Keys;
using store::cluster::NodeRecord;
using store::cluster::RefusalRecord;

struct ClusterRecoverOptions {
  ClusterPlace place;
  std::string data_dir;
  bool yes = false;
  bool json = false;
  bool goes_back = false;  // Also where etcd holds all of the directory's batches, and later ones.
};

// A node that is there may hold more, and may lead at any moment.
Status check_nobody_is_there(const ClusterState& seen) {
  std::set<std::string> names;
  for (const NodeRecord& node : seen.nodes) names.insert(printable(node.node));
  for (const CopyRecord& node : seen.copies) names.insert(printable(node.node));
  if (seen.leader) names.insert(printable(seen.leader->node));
  if (names.empty() && seen.leader_revision == 0) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("nodes of the cluster are there: {}; stop them all, and wait until their "
                      "leases are over (lease_s)",
                      fmt::join(names, ", "))};
}

// Whether the log in etcd is that of the directory and holds all of its batches. What is trimmed
// was on the disks of other nodes.
Result<bool> has_all_of(EtcdCalls& etcd, const Keys& keys, const ClusterState& seen,
                        const Store& store) {
  const store::Opening& opening = store.opening();
  if (seen.id != store.cluster_id() || opening.last_index > seen.last) return false;
  store::etcd::Transaction read;
  read.then.emplace_back(
      store::etcd::Get{.range = {.key = keys.entry(opening.last_index), .end = {}}});
  const auto done = etcd.commit(read);
  if (!done.ok()) return done.status();
  const auto& entry = done->gets.at(0).keys;
  if (entry.empty()) return true;
  const Result<store::Batch> batch = store::cluster::decode_entry(entry[0].value);
  return batch.ok() && batch->now() == opening.last_now;
}

Status check_need(EtcdCalls& etcd, const Keys& keys, const ClusterState& seen, const Store& store) {
  const std::string& path = store.options().data_dir;
  if (store.cluster_id().empty()) {
    return {
        StatusCode::InvalidArgument,
        path + " belongs to no cluster: `perennial cluster init` makes it the beginning of one"};
  }
  const Result<bool> has_all = has_all_of(etcd, keys, seen, store);
  if (!has_all.ok()) return has_all.status();
  if (!*has_all) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("etcd holds the log of {}, up to batch {}, and the directory goes to batch "
                      "{}: nothing is lost, so start its node; --go-back gives up what came after",
                      path, with_commas(seen.last), with_commas(store.opening().last_index))};
}

// What nodes have told of themselves before they ended.
Status check_others(const ClusterState& seen, const Store& store) {
  if (seen.refusals.empty()) return {};
  const auto most = std::ranges::max_element(seen.refusals, {}, &RefusalRecord::holds);
  const BatchIndex last = store.opening().last_index;
  if (most->holds <= last) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("node {} has told that it holds batch {}, and this directory ends with {}: "
                      "recover with the directory of {}, or give up what only that one holds with "
                      "--go-back",
                      printable(most->node), with_commas(most->holds), with_commas(last),
                      printable(most->node))};
}

// What is done, or would be. `new_id` is empty while nothing was changed.
void print_json(const std::string& cluster, const ClusterState& seen, const Store& store,
                JobId next_id, bool goes_back, const std::string& new_id) {
  nlohmann::ordered_json out = {{"cluster", cluster},
                                {"data_dir", store.options().data_dir},
                                {"last_batch", store.opening().last_index},
                                {"next_id", json_id(next_id)},
                                {"former_next_id", json_id(store.opening().next_id)},
                                {"deleted_log", nullptr},
                                {"goes_back", goes_back},
                                {"recovered", !new_id.empty()}};
  if (!seen.id.empty()) {
    out["deleted_log"] = {{"id", printable(seen.id)},
                          {"is_of_this_cluster", seen.id == store.cluster_id()},
                          {"last_batch", seen.last}};
  }
  if (!new_id.empty()) out["id"] = new_id;
  print_result(out);
}

void print_plan(const std::string& cluster, const ClusterState& seen, const Store& store,
                JobId next_id, bool goes_back) {
  const BatchIndex last = store.opening().last_index;
  fmt::print("cluster    {}\ndirectory  {}\nlast batch {}\nnext id    {}, moved on from {}\n",
             cluster, store.options().data_dir, with_commas(last), next_id,
             store.opening().next_id);
  if (seen.id.empty()) {
    fmt::print("etcd       holds no cluster {}\n", cluster);
  } else {
    fmt::print("etcd       holds a log {} up to batch {}, which is deleted\n",
               seen.id == store.cluster_id() ? "of this cluster"
                                             : "of another cluster (id " + printable(seen.id) + ")",
               with_commas(seen.last));
  }
  if (goes_back) {
    return fmt::print(
        "\nGiven up: all that was acknowledged after batch {}. Jobs that were put then are gone, "
        "and\njobs that were deleted then are there again.\n",
        with_commas(last));
  }
  fmt::print(
      "\nNot known: whether the lost log had batches after {}, and what was acknowledged with "
      "them.\n"
      "Jobs put by those batches are gone, and jobs deleted by them are there again. Of several\n"
      "nodes, recover the one whose last batch is highest: without --yes this command shows it.\n",
      with_commas(last));
}

// perennial cluster recover: etcd was lost, or restored from an older snapshot, or the cluster goes
// back to a checkpoint. Makes a node's directory the beginning of a new log with a new id.
//
// etcd gets the new log first, then the directory gets its id together with the next id. After a
// crash between the two the directory has the old id, so that its node is refused; the command, run
// again, begins another log.
Status cluster_recover(const ClusterRecoverOptions& options) {
  const Result<perenniald::ClusterConfig> cluster = cluster_of(options.place);
  if (!cluster.ok()) return cluster.status();
  const Result<std::unique_ptr<EtcdCalls>> etcd = EtcdCalls::open(*cluster);
  if (!etcd.ok()) return etcd.status();
  const Keys keys(cluster->name);
  const Result<ClusterState> seen = read_cluster_state(**etcd, keys);
  if (!seen.ok()) return seen.status();
  if (Status alone = check_nobody_is_there(*seen); !alone.ok()) return alone;
  const Result<std::unique_ptr<Store>> opened = open_directory(options.data_dir);
  if (!opened.ok()) return opened.status();
  Store& store = **opened;
  Status needed = check_need(**etcd, keys, *seen, store);
  if (!needed.ok() && !(options.goes_back && !store.cluster_id().empty())) return needed;
  // P3: the batches that are lost may have given out ids.
  const Result<JobId> next_id = store::skip_ids(store.opening().next_id);
  if (!next_id.ok()) return next_id.status();
  if (!options.json) print_plan(cluster->name, *seen, store, *next_id, options.goes_back);
  if (!options.goes_back) {
    if (Status best = check_others(*seen, store); !best.ok()) return best;
  }
  if (!options.yes) {
    if (options.json) {
      print_json(cluster->name, *seen, store, *next_id, options.goes_back, {});
    }
    return {StatusCode::InvalidArgument, "nothing was changed: run it again with --yes"};
  }
  const NewLog log = {.id = random_identity(),
                      .origin = store.identity(),
                      .base = store.opening().last_index,
                      .epoch = std::max(seen->epoch, store.opening().epoch) + 1};
  if (Status begun = begin_log(**etcd, keys, *seen, log); !begun.ok()) return begun;
  if (Status begun = store.begin_cluster(log.id, *next_id); !begun.ok()) return begun;
  if (options.json) {
    print_json(cluster->name, *seen, store, *next_id, options.goes_back, log.id);
    return store.close(*next_id);
  }
  fmt::print(
      "\nDone: the id of the cluster is {} now. Start the node of this directory first, and empty\n"
      "the directories of all other nodes before they start: with the former id they are "
      "refused.\n",
      log.id);
  return store.close(*next_id);
}

}  // namespace

Subcommand cluster_recover_command() {
  const auto options = std::make_shared<ClusterRecoverOptions>();
  return {
      .name = "cluster recover",
      .summary = "Begin a new log with a node's directory, after etcd was lost",
      .about =
          "For a cluster whose etcd was lost for good, or restored from an older snapshot, so that "
          "its nodes refuse to start. The directory becomes the beginning of a new log with a new "
          "identity. What etcd still holds of the former log is deleted.\n\n"
          "The lost log may have had batches that this directory has not: what was acknowledged "
          "with them is lost, and the command cannot know it. So look first at the directory of "
          "each node, without --yes, and recover the one whose last batch is highest. The next id "
          "is moved on by 2^40, so that an id that a lost batch has given out is not given out "
          "again.\n\n"
          "To go back to a checkpoint, restore it into the directory of one node, and give "
          "--go-back: what came after the checkpoint is lost.\n\n"
          "All nodes must be stopped. It refuses while a node is there, and where etcd holds the "
          "directory's log, because nothing is lost then. If it is interrupted, run it again. The "
          "directories of the other nodes must be emptied, after a copy of them was made if they "
          "may hold something that is missed.\n\n"
          "Run it as the user that the server runs as.",
      .examples =
          "  # On each node: which has the highest last batch?\n"
          "  perennial cluster recover --data-dir /var/lib/perennial\n"
          "  # On that one.\n"
          "  perennial cluster recover --data-dir /var/lib/perennial --yes\n"
          "  # After a checkpoint was restored there.\n"
          "  perennial cluster recover --data-dir /var/lib/perennial --go-back --yes\n",
      .flags = cluster_flags(
          options->place,
          {{"--data-dir", "DIR", "The directory of a node", &options->data_dir, true},
           {"--go-back", "",
            "Also where etcd or another node holds later batches: what came after is lost",
            &options->goes_back},
           {"--yes", "", "Do it; otherwise it only says what it would do", &options->yes},
           {"--json", "", "Report as JSON", &options->json}}),
      .run = [options] { return cluster_recover(*options); },
  };
}

}  // namespace perennial::tool
