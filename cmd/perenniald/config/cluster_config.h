#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/common/peer/peer_access.h"
#include "cmd/perenniald/config/field.h"
#include "engine/types/status.h"

// The setting `cluster`: the cluster that this server is a node of, and the etcd that has its log.
// A name or an address that is valid here may still belong to nobody: nothing is looked up.
namespace perennial::perenniald {

// What a standby does with clients: forward them to the leader, or refuse their connections.
enum class StandbyClients : uint8_t { Forward, Refuse };

// What a node does whose settings differ from the leader's: it says so, or it does not stand for
// election either.
enum class SettingsDiffer : uint8_t { Warn, Refuse };

struct ClusterConfig {
  std::string name;               // Empty: the server is no part of a cluster.
  std::string node;               // This server's name in it.
  std::string etcd_discovery;     // A domain that names etcd's members by SRV records. Or else:
  std::vector<std::string> etcd;  // "http://HOST:PORT" or "https://HOST:PORT", all alike.
  std::string etcd_ca;            // This and the next two are files, and need https. Empty: the
                                  // CAs of the system.
  std::string etcd_certificate;   // It and its key are both set or both empty.
  std::string etcd_key;
  std::string etcd_user;  // Set or empty together with its password.
  std::string etcd_password_file;
  std::string client_address;    // HOST:PORT where clients and other nodes reach this one.
  std::string peer_address;      // HOST:PORT of its HTTP. Empty: there is none.
  std::string peer_ca;           // Of the nodes' HTTP. Empty: they speak HTTP without TLS.
  std::string peer_certificate;  // What this node shows them. It and its key are both set, with
                                 // peer_ca, or both empty.
  std::string peer_key;
  std::string peer_token_file;  // With a token that the other nodes know. Empty: none is needed.
  uint64_t priority = 50;       // Who leads first: store::cluster::NodeRecord::priority. 0: never.
  uint64_t lease_s = 10;
  uint64_t clock_offset_max_s = 10;       // How far a wall clock may be off to be believed.
  uint64_t copies_min = 2;                // Nodes that have flushed an entry before it is trimmed.
  uint64_t log_keep_bytes = 64ull << 20;  // At most log_bytes_max.
  uint64_t log_bytes_max = 256ull << 20;  // At most half of etcd_quota_bytes.
  bool etcd_compact = true;
  uint64_t etcd_quota_bytes = 2ull << 30;  // etcd's own --quota-backend-bytes.
  uint64_t sync_ms = 100;                  // The longest time from a write to its sync on a node.
  StandbyClients standby_clients = StandbyClients::Forward;
  SettingsDiffer settings_differ = SettingsDiffer::Warn;
  uint64_t forward_wait_s = 10;  // How long a forwarded client waits for a leader.

  bool is_set() const { return !name.empty(); }
  // `etcd_tls` is set.
  bool has_etcd_tls() const {
    return !etcd_ca.empty() || !etcd_certificate.empty() || !etcd_key.empty();
  }
};

// What this node shows to others, and whom it trusts.
common::PeerAccess peer_access(const ClusterConfig& config);
// InvalidArgument: others than its owner have access to the key or the password for etcd.
Status check_etcd_secrets(const ClusterConfig& config);

// How etcd is reached: its endpoints, certificates, user and password. These settings may change
// while the server runs. Copies them.
void set_etcd_settings(ClusterConfig& config, const ClusterConfig& from);

// An append is one transaction of etcd, which takes 1.5 MiB at most (--max-request-bytes).
inline constexpr uint64_t cluster_job_bytes_max = 1ull << 20;
inline constexpr uint64_t cluster_batch_bytes_max = 256ull << 10;

// Whether this program is built with clusters (PERENNIAL_HAS_CLUSTER).
bool cluster_is_built();
// Returns what is wrong with a section, whatever is in it, or nothing. `is_built`: as above.
std::string check_cluster_is_built(bool is_built);
// Returns every problem of settings that are each valid.
Problems check_cluster(const ClusterConfig& config);

// The rows of the section.
ConfigFields cluster_fields();

// Sets one key, or adds to its list. Returns what is wrong with the value, or nothing.
// REQUIRES: the section has this key.
std::string set_cluster(ClusterConfig& config, std::string_view key, std::string_view value);

// Each returns what is wrong with a text, or nothing. A HOST is a name, an IPv4 number, or an IPv6
// number in brackets, and is not one of "every interface". A PORT is a number from 1 to 65535.
std::string check_node_address(std::string_view text);
std::string check_endpoint(std::string_view text);

}  // namespace perennial::perenniald
