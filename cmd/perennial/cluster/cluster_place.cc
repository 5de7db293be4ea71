#include "cmd/perennial/cluster/cluster_place.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cmd/perenniald/config/config.h"
#include "store/etcd/discovery.h"

namespace perennial::tool {
namespace {

constexpr std::string_view default_config_file = "/etc/perennial/perennial.yaml";

Result<perenniald::ClusterConfig> read_section(const std::string& path) {
  perenniald::Config config = perenniald::default_config();
  const perenniald::Problems problems = perenniald::read_config_file(config, path);
  if (!problems.empty()) {
    return Status(StatusCode::InvalidArgument, fmt::format("{}", fmt::join(problems, "\n")));
  }
  if (config.cluster.is_set()) return std::move(config.cluster);
  return Status(StatusCode::InvalidArgument,
                path +
                    " has no section cluster: name a node's configuration with --config, or the "
                    "cluster with --name and --etcd");
}

Status find_endpoints(perenniald::ClusterConfig& cluster) {
  using store::etcd::DiscoveryOf;
  if (cluster.etcd_discovery.empty()) return {};
  Result<std::vector<std::string>> found = store::etcd::discover_endpoints(
      cluster.etcd_discovery, cluster.has_etcd_tls() ? DiscoveryOf::Tls : DiscoveryOf::Either);
  if (!found.ok()) return std::move(found.take_status()).with("cluster: etcd_discovery");
  cluster.etcd = found.take();
  return {};
}

}  // namespace

Result<perenniald::ClusterConfig> cluster_of(const ClusterPlace& place) {
  if (!perenniald::cluster_is_built()) {
    return Status(StatusCode::Unsupported, "this perennial was built without clusters");
  }
  perenniald::ClusterConfig cluster;
  if (place.config || place.etcd.empty() || place.name.empty()) {
    Result<perenniald::ClusterConfig> section =
        read_section(place.config.value_or(std::string(default_config_file)));
    if (!section.ok()) return section.take_status();
    cluster = section.take();
  }
  if (!place.etcd.empty()) {
    cluster.etcd.clear();
    cluster.etcd_discovery.clear();
  }
  for (const std::string& endpoint : place.etcd) {
    if (const std::string what = set_cluster(cluster, "etcd", endpoint); !what.empty()) {
      return Status(StatusCode::InvalidArgument, "--etcd: " + what);
    }
  }
  if (!place.name.empty()) {
    if (const std::string what = set_cluster(cluster, "name", place.name); !what.empty()) {
      return Status(StatusCode::InvalidArgument, "--name: " + what);
    }
  }
  if (Status found = find_endpoints(cluster); !found.ok()) return found;
  return cluster;
}

std::vector<Flag> cluster_flags(ClusterPlace& place, std::vector<Flag> others) {
  std::vector<Flag> flags = {
      {"-c,--config", "FILE",
       "The configuration of a node, with its section cluster (default "
       "/etc/perennial/perennial.yaml)",
       &place.config},
      {"--etcd", "URL", "An endpoint of etcd instead of those of the file; may be repeated",
       &place.etcd},
      {"--name", "NAME", "The cluster's name instead of that of the file", &place.name}};
  for (Flag& flag : others) flags.push_back(std::move(flag));
  return flags;
}

}  // namespace perennial::tool
