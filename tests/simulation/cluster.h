#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "store/cluster/node.h"
#include "tests/simulation/disk.h"
#include "tests/simulation/model_disk.h"
#include "tests/support/fake_etcd.h"
#include "tests/support/virtual_time.h"

// Three nodes of a cluster in virtual time: the real state machines of store/cluster on a model of
// etcd with all its faults, and the model of a store below each.
namespace perennial::simulation {

// Bugs that a node could have, and that the laws of single servers and the comparison of the nodes
// must find. Those in what a node says to etcd are planted in tests/store/cluster.
enum class ClusterBug : uint8_t {
  None,
  AnswersBeforeCommit,  // A batch is answered as soon as it is handed over.
  SkipsRows,            // A standby counts each seventh entry without applying it.
  LeaseNotLookedAt,     // Before answers leave a leader.
  ReusesIds,            // After a takeover ids continue from the highest one found.
};

class Cluster;

// One process of a node. Once it leads, it is the disk of a server: a batch is written when etcd
// has it.
class Replica final : public Disk {
 public:
  // What survives the process.
  struct Directory {
    std::string identity;
    std::string cluster_id = {};
    ModelDisk rows;
  };

  Replica(Cluster& cluster, const std::string& name, Directory& directory);
  ~Replica() override { end(); }
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  Result<Found> open() override;
  void submit(store::Batch&& batch) override;
  Done finish() override;
  Done look() override;
  Result<Body> body(JobId id) override { return directory_.rows.body(id); }
  Result<std::vector<Note>> notes(JobId id) override { return directory_.rows.notes(id); }
  Result<core::EndedResult> ended(const core::EndedRead& read) override {
    return directory_.rows.ended(read);
  }
  bool may_answer() override;
  // Gives up the lead.
  Status close(JobId next_id) override;

  void pause() { process_.pause(); }
  void resume() { process_.resume(); }
  bool is_paused() const { return process_.is_paused(); }
  // It stands still until resume(), and whoever drives its server takes it for lost.
  void retire();
  // As SIGKILL. A server on it can do nothing any more.
  void kill();
  void cut_power();

  bool leads() const { return epoch_ != 0 && !is_over_; }
  // The same, and nobody was elected after it. Where leases do not hold, one that was overtaken
  // learns of it late, and its rows are those of the past.
  bool leads(uint64_t newest_epoch) const { return leads() && epoch_ == newest_epoch; }
  bool is_retired() const { return is_retired_; }
  // The process has ended by itself, or was killed.
  bool has_ended() const { return is_over_; }
  // What is wrong; empty: nothing.
  const std::string& fault() const { return fault_; }

 private:
  store::cluster::Node::Events events();
  void end();
  void apply(BatchIndex index, const std::string& bytes);
  void write(store::Batch&& batch);
  void flush_later();

  Cluster& cluster_;
  Directory& directory_;
  support::VirtualTime::Node& process_;
  std::unique_ptr<store::etcd::Client> client_;
  std::unique_ptr<store::cluster::Node> node_;
  uint64_t epoch_ = 0;
  bool is_over_ = false;
  bool is_retired_ = false;
  std::string fault_;
  std::string sent_bytes_;  // What sent_ views, where nobody else keeps it.
  std::optional<store::Batch> sent_;
  std::vector<store::Batch> written_;  // To be given back to core.
};

class Cluster {
 public:
  Cluster(uint64_t seed, ClusterBug bug);

  // Lets time pass until the newest leader can serve, and starts again what has ended. Null: there
  // is a fault, or none leads within ten minutes.
  std::shared_ptr<Replica> wait_for_leader();
  // At times something happens to a node that does not lead: it is killed, loses power, stands
  // still or goes on.
  void act();
  void pass(Nanos time) { time_.run_for(time); }
  // A node leads from this epoch on.
  void on_elected(uint64_t epoch) { newest_epoch_ = std::max(newest_epoch_, epoch); }
  // Everything works again, and all nodes have got to the end of the log. Returns what is wrong.
  std::string catch_up();
  // The first law that a node saw broken; empty: none.
  std::string fault() const;

  // Whether etcd keeps each lease for its time. It does not in half of the clusters: then a leader
  // may be overtaken before it can know, and only what it writes is safe.
  bool leases_hold() const { return leases_hold_; }
  support::VirtualTime& time() { return time_; }
  support::FakeEtcd& etcd() { return etcd_; }
  ClusterBug bug() const { return bug_; }

 private:
  static constexpr size_t node_count = 3;

  void start(size_t i);
  void start_ended();

  std::mt19937_64 random_;
  const bool leases_hold_;
  support::VirtualTime time_;
  support::FakeEtcd etcd_;
  const ClusterBug bug_;
  uint64_t newest_epoch_ = 0;
  std::array<std::unique_ptr<Replica::Directory>, node_count> directories_;
  // A server may still hold the former process of a node.
  std::array<std::shared_ptr<Replica>, node_count> replicas_;
};

}  // namespace perennial::simulation
