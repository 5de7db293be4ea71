#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "store/etcd/etcd.h"

namespace perennial::store::cluster {

// The keys of one cluster in etcd. README.md draws them with their values.
class Keys {
 public:
  // `cluster` is the name of the cluster: is_cluster_name().
  explicit Keys(std::string_view cluster);

  const std::string& prefix() const { return prefix_; }
  std::string id() const { return prefix_ + "id"; }
  std::string origin() const { return prefix_ + "origin"; }
  std::string base() const { return prefix_ + "base"; }
  std::string leader() const { return prefix_ + "leader"; }
  std::string epoch() const { return prefix_ + "epoch"; }
  std::string elections() const { return prefix_ + "elections"; }
  std::string handover() const { return prefix_ + "handover"; }
  std::string next() const { return prefix_ + "next"; }
  // Nodes that do not lead for a while, because an operator has asked for it.
  std::string resignations() const { return prefix_ + "resigned/"; }
  std::string resignation(std::string_view name) const {
    return resignations() + std::string(name);
  }
  // It exists while takeovers are paused.
  std::string pause() const { return prefix_ + "paused"; }
  // Requests that a node gets a copy of another node's database.
  std::string repairs() const { return prefix_ + "repair/"; }
  std::string repair(std::string_view name) const { return repairs() + std::string(name); }
  std::string nodes() const { return prefix_ + "nodes/"; }
  std::string node(std::string_view name) const { return nodes() + std::string(name); }
  // Nodes that are getting a copy of another node's database.
  std::string copies() const { return prefix_ + "copies/"; }
  std::string copy(std::string_view name) const { return copies() + std::string(name); }
  // Nodes that were refused because the log lacks batches that they hold.
  std::string refusals() const { return prefix_ + "refused/"; }
  std::string refusal(std::string_view name) const { return refusals() + std::string(name); }
  std::string log() const { return prefix_ + "log/"; }
  // Keys of entries sort like their indices.
  std::string entry(BatchIndex index) const;
  // Returns the index of an entry's key. None: the key is not one.
  std::optional<BatchIndex> index_of(std::string_view key) const;
  // All entries from `first` on.
  etcd::KeyRange entries_from(BatchIndex first) const;
  // Reads the first key of the log and the number of entries. Asking etcd for the last key, in
  // descending order, would be expensive: etcd then reads the whole log with all values before it
  // applies the limit.
  etcd::Get log_span() const;
  // The index of the newest entry, from the result of log_span(): the log has no gaps. 0: the log
  // is empty.
  BatchIndex last_of(const etcd::Found& span) const;
  // All entries before `end`.
  etcd::KeyRange entries_before(BatchIndex end) const;

 private:
  std::string prefix_;
};

}  // namespace perennial::store::cluster
