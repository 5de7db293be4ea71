#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "store/etcd/etcd.h"

// The values of keys that people read as well as nodes: one JSON object each. Unknown fields are
// ignored, so that a newer version can add some.
namespace perennial::store::cluster {

// Whether two processes with the same data directory run on the same kernel, so that they use the
// very same directory: its lock then proves that one of them has ended. Otherwise the directory may
// have been cloned. True if either is unknown.
bool is_same_boot(std::string_view one, std::string_view other);

struct LeaderRecord {
  std::string node;
  // The identity of the node's data directory: store/disk/identity.h. No two directories have the
  // same, so it tells a node that was restarted from another of the same name.
  std::string directory;
  std::string client_address;
  std::string peer_address;
  uint64_t epoch = 0;
  // The boot of the machine, its kernel's boot_id, and the inode of the directory. Empty: not told,
  // as by a version without it.
  std::string boot = {};
  // Whether it reads the header that a standby sends before a client's bytes. False: an older
  // version, to which no header is sent.
  bool reads_forward_header = false;

  bool operator==(const LeaderRecord&) const = default;
};
std::string encode(const LeaderRecord& record);
// None: the text is not such a record.
std::optional<LeaderRecord> decode_leader(std::string_view text);

// A standby that is further behind the end of the log is not up to date. A node publishes how far
// it is once a second, so some entries are always missing under load.
inline constexpr uint64_t entries_behind_max = 1000;

// The priority of a node in an election: the standby with the higher number campaigns first. A node
// with 0 never leads.
inline constexpr uint32_t priority_max = 100;
inline constexpr uint32_t priority_default = 50;
// Digests of settings' values, by the names of the settings.
using SettingDigests = std::map<std::string, std::string>;
// The names for which both have digests that differ, sorted.
std::vector<std::string> differing(const SettingDigests& one, const SettingDigests& other);

enum class Role : uint8_t { Joining, Standby, Leader };
std::string_view name_of(Role role);

struct NodeRecord {
  std::string node;
  std::string directory;
  std::string client_address;
  std::string peer_address;
  std::string version;
  Role role = Role::Joining;
  uint32_t format = 0;     // The newest format of batches that the node can apply.
  BatchIndex applied = 0;  // The newest batch that its database holds,
  BatchIndex flushed = 0;  // and that its disk holds.
  std::string boot = {};   // LeaderRecord::boot
  // Milliseconds since the epoch. 0: unknown, as of an older version, which has no such fields.
  uint64_t clock_ms = 0;  // What the machine's wall clock says.
  uint64_t time_ms = 0;   // The cluster's time, as the node knows it.
  // ClusterTime::epoch(). 0: unknown, as of an older version, in which only leaders publish the
  // time.
  uint64_t time_epoch = 0;
  // Its disk has space for the jobs of puts. True for an older version, which has no such field.
  bool has_space = true;
  // Its database is known to be damaged on disk. An older version has no such field, and does not
  // check.
  bool is_damaged = false;
  // Of a standby: whether it reaches the leader at its peer_address, by which it notices the
  // leader's end. None: it is not known, or not told.
  std::optional<bool> reaches_leader = std::nullopt;
  // 0 to priority_max. The default for an older version, which has no such field.
  uint32_t priority = priority_default;
  // Of the leader: what becomes of puts, as puts_name() has it. Empty: not told.
  std::string puts = {};
  // Of the settings in which all nodes should be alike. Empty: not told.
  SettingDigests settings = {};

  bool never_leads() const { return priority == 0; }
  // Whether it can send a copy of its database that holds about as much as a node does that has
  // applied `applied_there`.
  bool has_copy_for(BatchIndex applied_there) const {
    return role != Role::Joining && !peer_address.empty() &&
           applied + entries_behind_max > applied_there;
  }
  bool operator==(const NodeRecord&) const = default;
};
std::string encode(const NodeRecord& record);
std::optional<NodeRecord> decode_node(std::string_view text);

// A node that gets a copy of another node's database. Meanwhile it has no record under `nodes`,
// because it holds no entry of the log: the log is not kept for it, it does not count as a copy, it
// has no place in an election, and its directory has no identity yet.
struct CopyRecord {
  std::string node;
  std::string from;  // The node that sends. Empty: a sender is being looked for.
  std::string client_address;
  std::string peer_address;
  std::string version;
  uint64_t bytes = 0;           // The size of the copy. 0: not known yet.
  uint64_t received_bytes = 0;  // How much of it has come.

  bool operator==(const CopyRecord&) const = default;
};
std::string encode(const CopyRecord& record);
std::optional<CopyRecord> decode_copy(std::string_view text);

// A node that holds batches that the log in etcd does not, and was refused for that. The record
// stays until the node joins again or the log is begun anew. Meanwhile nobody is elected whose log
// does not reach as far, because what the node holds was acknowledged.
struct RefusalRecord {
  std::string node;
  std::string directory;
  std::string version;
  BatchIndex holds = 0;  // Its newest batch.
  std::string why;       // For people.

  bool operator==(const RefusalRecord&) const = default;
};
std::string encode(const RefusalRecord& record);
std::optional<RefusalRecord> decode_refusal(std::string_view text);

// Asks the leader of this epoch to give up the lead.
struct HandoverRecord {
  uint64_t epoch = 0;
  std::string to;  // The node that shall lead next. Empty: the one that holds most.

  bool operator==(const HandoverRecord&) const = default;
};
std::string encode(const HandoverRecord& record);
std::optional<HandoverRecord> decode_handover(std::string_view text);

// Takeovers are paused. Meanwhile only this node may lead, which led when an operator asked for it.
struct PauseRecord {
  std::string node;
  std::string directory;  // NodeRecord::directory

  bool operator==(const PauseRecord&) const = default;
};
std::string encode(const PauseRecord& record);
std::optional<PauseRecord> decode_pause(std::string_view text);
// When nodes were elected, oldest first, in milliseconds since the epoch by the wall clocks of
// their machines. Each election writes the key `elections` anew, with itself, and keeps the newest
// ones: etcd itself knows the former leaders only until its history is compacted.
using ElectionTimes = std::vector<uint64_t>;
inline constexpr size_t election_times_max = 20;
std::string encode(const ElectionTimes& times);
// Empty if the text cannot be read.
ElectionTimes decode_elections(std::string_view text);

// Numbers that stand alone: `epoch` and `base`.
std::string encode(uint64_t number);
std::optional<uint64_t> decode_number(std::string_view text);

}  // namespace perennial::store::cluster
