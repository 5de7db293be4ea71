#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cmd/perennial/cluster/cluster_state.h"
#include "store/etcd/etcd.h"

// What `perennial cluster status` says. Pure.
namespace perennial::tool {

struct MemberState {
  std::string endpoint;
  store::etcd::Outcome<store::etcd::MemberStatus> status;
};

struct ClusterReport {
  std::string name;
  ClusterState state;
  std::vector<MemberState> members = {};
  uint64_t copies_min = 0;
  uint64_t clock_offset_max_s = 0;
  uint64_t quota_bytes = 0;  // Of each member's database.
};

// How far the copy is that a node gets: "copying 42%".
std::string copying_text(const store::cluster::CopyRecord& node);

// What needs somebody, in full sentences. Empty: the cluster is healthy.
std::vector<std::string> cluster_warnings(const ClusterReport& report);
std::string status_table(const ClusterReport& report);
nlohmann::ordered_json status_json(const ClusterReport& report);

}  // namespace perennial::tool
