#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cmd/perenniald/config/cluster_config.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/cluster/cluster_log.h"
#include "store/cluster/node.h"
#include "store/commit/log.h"
#include "store/etcd/etcd.h"
#include "store/store.h"

namespace perennial::perenniald {

// This process as a node of its cluster: etcd's client with its thread, the node, and the log that
// the server appends to while it leads.
//
// A standby has no engine and serves no queue. The server's start waits in follow() until the node
// leads, and then loads what was applied. A node that loses the lead ends its process with exit
// code 76 and without destructors, since what it holds in memory may differ from what the log
// holds; its supervisor starts it again as a standby.
class Member {
 public:
  // `wake` is called on another thread when the log has an update for the loop. InvalidArgument:
  // the settings name a file that cannot be used. Unsupported: the program was built without
  // clusters.
  static Result<std::unique_ptr<Member>> create(const ClusterConfig& config,
                                                const std::string& version,
                                                std::function<void()> wake);
  // REQUIRES: the log that take_log() gave has ended, or none was taken.
  ~Member();

  // Follows the log until this node leads, and has applied everything that any leader has
  // committed. On the thread of the start; returns an error after cancel(). `store` outlives this.
  Status follow(store::Store& store);
  // Any thread.
  void cancel();

  // The epoch of this leader. REQUIRES: follow() has returned without an error.
  uint64_t epoch() const { return epoch_; }
  // The log that the loop appends to. It ends before this does, and after leave().
  std::unique_ptr<store::Log> take_log() { return std::move(log_); }

  // Ends the process if another node may lead by now: C5. Called before anything is answered.
  void check_lease() const;
  // Gives up the lead, so that a standby takes over at once. Nothing is appended from now on.
  void leave();

 private:
  Member(const ClusterConfig& config, std::string version, std::function<void()> wake);

  store::cluster::Node::Events node_events();
  store::cluster::NodeOptions node_options(const store::Store& store) const;
  void start(store::Store& store);
  void finish(Status status);
  void stop_threads();
  void on_leader(const std::optional<store::cluster::LeaderRecord>& leader);
  void on_failed(const store::etcd::Failure& failure);

  const ClusterConfig config_;
  const std::string version_;
  const std::function<void()> wake_;
  struct Etcd;  // Its client and the thread of that.
  std::unique_ptr<Etcd, void (*)(Etcd*)> etcd_;
  std::unique_ptr<store::cluster::Node> node_;
  std::unique_ptr<store::cluster::ClusterLog> log_;
  store::cluster::ClusterLog* entries_ = nullptr;  // The log, also when it was taken.
  store::Store* store_ = nullptr;

  // What the executor's thread alone uses.
  std::string failed_before_;  // What was logged last.
  Nanos failed_at_ = 0;

  std::mutex mutex_;  // Guards the members below.
  std::condition_variable changed_;
  std::optional<Status> outcome_;  // Of follow().
  bool leads_ = false;
  bool cancelled_ = false;
  uint64_t epoch_ = 0;
};

}  // namespace perennial::perenniald
