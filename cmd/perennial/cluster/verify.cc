#include "cmd/perennial/cluster/verify.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cmd/perennial/cluster/cluster_place.h"
#include "cmd/perennial/cluster/cluster_state.h"
#include "cmd/perennial/cluster/commands.h"
#include "cmd/perennial/cluster/etcd_calls.h"
#include "cmd/perennial/cluster/node_calls.h"
#include "cmd/perennial/output/readable.h"

namespace perennial::tool {
namespace {

using store::cluster::Keys;
using store::cluster::NodeRecord;

// How many indices are tried. One has passed before all nodes were asked if the log moves faster
// than was foreseen.
constexpr int tries_max = 5;
// So far ahead is the batch at which all nodes are compared: what the log moves in this time.
constexpr auto ahead = std::chrono::milliseconds(1500);
// A node reads all of its rows first.
constexpr int64_t answer_s_max = 3600;

Status check_nodes(const ClusterState& state) {
  if (!state.leader) {
    return {StatusCode::NotFound, "no node leads: see `perennial cluster status`"};
  }
  if (state.nodes.size() < 2) {
    return {StatusCode::NotFound, "there is one node only, and nothing to compare it with"};
  }
  for (const NodeRecord& node : state.nodes) {
    if (!node.peer_address.empty()) continue;
    return {
        StatusCode::InvalidArgument,
        fmt::format("node {} has no peer_address, where it could be asked", printable(node.node))};
  }
  return {};
}

// A batch that is not applied yet, or the last one where nothing moves.
BatchIndex index_to_ask(const ClusterState& before, const ClusterState& now) {
  return now.last + (now.last - before.last);
}

// All at once: the first who are asked wait for the batch.
std::vector<Result<NodeDigests>> ask_all(const perenniald::ClusterConfig& cluster,
                                         const std::vector<NodeRecord>& nodes, BatchIndex index) {
  std::vector<std::future<Result<NodeDigests>>> asked;
  asked.reserve(nodes.size());
  for (const NodeRecord& node : nodes) {
    asked.push_back(std::async(std::launch::async, [&cluster, &node, index] {
      Result<std::string> answer = ask_node(
          cluster, node.peer_address, fmt::format("/cluster/digest?at={}", index), answer_s_max);
      if (!answer.ok()) return Result<NodeDigests>(answer.take_status());
      return parse_digests(node.node, *answer);
    }));
  }
  std::vector<Result<NodeDigests>> out;
  out.reserve(asked.size());
  for (auto& answer : asked) out.push_back(answer.get());
  return out;
}

void print_json(const std::vector<NodeDigests>& nodes, const std::vector<std::string>& found) {
  nlohmann::ordered_json out = {{"index", nodes.front().index}, {"equal", found.empty()}};
  for (const NodeDigests& node : nodes) {
    nlohmann::ordered_json families = nlohmann::ordered_json::object();
    for (const auto& family : node.families) {
      families[family.name] = {{"rows", family.rows}, {"hash", family.hash}};
    }
    out["nodes"].push_back({{"node", node.node}, {"families", families}});
  }
  fmt::print("{}\n", out.dump(2));
}

void print_text(const std::vector<NodeDigests>& nodes, const std::vector<std::string>& found) {
  for (const std::string& line : found) fmt::print("{}\n", line);
  if (!found.empty()) return;
  uint64_t rows = 0;
  for (const auto& family : nodes.front().families) rows += family.rows;
  fmt::print("{} nodes hold the same {} rows after batch {}\n", nodes.size(), with_commas(rows),
             with_commas(nodes.front().index));
}

Status compare(const std::vector<NodeDigests>& nodes, bool json) {
  const std::vector<std::string> found = differences(nodes);
  if (json) {
    print_json(nodes, found);
  } else {
    print_text(nodes, found);
  }
  if (found.empty()) return {};
  return {StatusCode::Corruption,
          "the nodes do not hold the same rows: stop the one that differs from the others, keep a "
          "copy of its directory, and start it with an empty one"};
}

}  // namespace

Result<NodeDigests> parse_digests(const std::string& node, std::string_view json) {
  const auto bad = [&](const char* what) {
    return Status(StatusCode::Corruption, fmt::format("{}: {}", printable(node), what));
  };
  const nlohmann::json read = nlohmann::json::parse(json, nullptr, false);
  if (!read.is_object() || !read.contains("index") || !read["index"].is_number_unsigned() ||
      !read.contains("families") || !read["families"].is_array()) {
    return bad("its answer is no digest, or was cut off");
  }
  NodeDigests out = {.node = node, .index = read["index"].get<BatchIndex>(), .families = {}};
  for (const auto& family : read["families"]) {
    const bool is_good = family.is_object() && family.contains("name") &&
                         family["name"].is_string() && family.contains("rows") &&
                         family["rows"].is_number_unsigned() && family.contains("hash") &&
                         family["hash"].is_string();
    if (!is_good) return bad("its answer has a family without a name, rows or hash");
    out.families.push_back({family["name"].get<std::string>(), family["rows"].get<uint64_t>(),
                            family["hash"].get<std::string>()});
  }
  if (out.families.empty()) return bad("its answer has no family");
  return out;
}

std::vector<std::string> differences(const std::vector<NodeDigests>& nodes) {
  std::vector<std::string> out;
  const NodeDigests& first = nodes.front();
  for (const NodeDigests& node : nodes) {
    if (node.index != first.index) {
      out.push_back(fmt::format("{} is at batch {}, and {} at {}", printable(node.node), node.index,
                                printable(first.node), first.index));
      continue;
    }
    if (node.families.size() != first.families.size()) {
      out.push_back(fmt::format("{} has {} column families, and {} has {}", printable(node.node),
                                node.families.size(), printable(first.node),
                                first.families.size()));
      continue;
    }
    for (size_t i = 0; i < node.families.size(); ++i) {
      const NodeDigests::Family& one = node.families[i];
      const NodeDigests::Family& other = first.families[i];
      if (one == other) continue;
      out.push_back(fmt::format("{}: {} rows in {}, hash {}; {}: {} rows in {}, hash {}",
                                printable(node.node), one.rows, printable(one.name),
                                printable(one.hash), printable(first.node), other.rows,
                                printable(other.name), printable(other.hash)));
    }
  }
  return out;
}

namespace {

struct ClusterVerifyOptions {
  ClusterPlace place;
  bool json = false;
};

// Compares the rows of all nodes right after one batch. Corruption: they differ.
Status cluster_verify(const ClusterVerifyOptions& options) {
  const Result<perenniald::ClusterConfig> cluster = cluster_of(options.place);
  if (!cluster.ok()) return cluster.status();
  const Result<std::unique_ptr<EtcdCalls>> etcd = EtcdCalls::open(*cluster);
  if (!etcd.ok()) return etcd.status();
  const Keys keys(cluster->name);
  Status failed;
  for (int i = 0; i < tries_max; ++i) {
    const Result<ClusterState> before = read_cluster_state(**etcd, keys);
    if (!before.ok()) return before.status();
    if (Status good = check_nodes(*before); !good.ok()) return good;
    std::this_thread::sleep_for(ahead);
    const Result<ClusterState> now = read_cluster_state(**etcd, keys);
    if (!now.ok()) return now.status();
    if (Status good = check_nodes(*now); !good.ok()) return good;
    const BatchIndex index = index_to_ask(*before, *now);
    if (index == 0) return {StatusCode::NotFound, "the log is empty: there is nothing to compare"};
    std::vector<NodeDigests> nodes;
    failed = {};
    for (Result<NodeDigests>& answer : ask_all(*cluster, now->nodes, index)) {
      if (answer.ok()) {
        nodes.push_back(answer.take());
      } else {
        failed = answer.take_status();
      }
    }
    if (failed.ok()) return compare(nodes, options.json);
  }
  return failed;
}

}  // namespace

Subcommand cluster_verify_command() {
  const auto options = std::make_shared<ClusterVerifyOptions>();
  return {
      .name = "cluster verify",
      .summary = "Compare the rows of all nodes of a cluster",
      .about =
          "Asks each node, at its peer_address, for a hash of each column family right after one "
          "batch of the log, and compares them. The nodes serve and follow meanwhile: each reads "
          "a copy of its own database, whose tables are hard links. Where the log moves, the batch "
          "is one that comes soon.\n\n"
          "It asks as nodes do, with peer_ca and peer_token_file of the configuration; where users "
          "are configured, the token is that of a user with the grant admin.\n\n"
          "Exit code 0: all nodes hold the same rows. 1: they do not, and the output says which "
          "family differs on which node; or a node could not be asked.",
      .examples = "  perennial cluster verify\n",
      .flags = cluster_flags(options->place, {{"--json", "", "Report as JSON", &options->json}}),
      .run = [options] { return cluster_verify(*options); },
  };
}

}  // namespace perennial::tool
