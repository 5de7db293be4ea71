#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/cluster/entry.h"
#include "store/cluster/node.h"
#include "store/cluster/timing.h"

// How a node joins its cluster, and when it is refused (C7: etc/docs/cluster.md, "What a cluster
// promises").
namespace perennial::store::cluster {

using etcd::Compare;
using etcd::Get;

BatchIndex Node::newest() const {
  return follows_ ? follower_.next() - 1 : start_position_.index;
}

// etcd was out of reach, or its revision has gone back. It may have been restored from a snapshot
// or replaced meanwhile, so everything is compared as at the start.
void Node::join_again() {
  is_current_ = false;
  update_readiness();
  follower_.pause();
  join();
}

void Node::join() {
  etcd::Transaction read;
  read.then.emplace_back(Get{.range = {.key = keys_.id(), .end = {}}});
  read.then.emplace_back(Get{.range = {.key = keys_.base(), .end = {}}});
  read.then.emplace_back(keys_.log_span());
  read.then.emplace_back(Get{.range = {.key = keys_.entry(newest()), .end = {}}});
  read.then.emplace_back(Get{.range = {.key = keys_.refusal(options_.node), .end = {}}});
  client_.commit(std::move(read), executor_.now() + call_timeout,
                 [this, joining = ++joining_](const auto& outcome) {
                   if (!ended_ && joining == joining_) on_joining(outcome);
                 });
}

void Node::on_joining(const etcd::Outcome<etcd::TransactionDone>& outcome) {
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
    events_.failed(*failure);
    return after(retry_delay, &Node::join);
  }
  const auto& seen = std::get<etcd::TransactionDone>(outcome);
  CHECK(seen.gets.size() == 5);
  const auto& id = seen.gets[0].keys;
  const auto& base = seen.gets[1].keys;
  if (id.empty()) return found_cluster();
  if (cluster_id_.empty() && start_position_.index != 0) {
    return refuse(
        StatusCode::InvalidArgument,
        fmt::format(
            "the data directory holds jobs and belongs to no cluster, and cluster "
            "{} exists already; if `perennial cluster init` was interrupted, run it again; else "
            "start with an empty directory, or move the jobs out of this one with "
            "`perennial export-beanstalkd`",
            options_.cluster));
  }
  if (!cluster_id_.empty() && cluster_id_ != id[0].value) {
    return refuse(StatusCode::InvalidArgument,
                  fmt::format("the data directory belongs to another cluster: its id is {}, and "
                              "that of cluster {} in etcd is {}; check `cluster.name` and "
                              "`cluster.etcd`; after a `perennial cluster recover` of another "
                              "node, empty this directory",
                              cluster_id_, options_.cluster, id[0].value));
  }
  base_ = base.empty() ? 0 : decode_number(base[0].value).value_or(0);
  const BatchIndex last = std::max(keys_.last_of(seen.gets[2]), base_);
  if (Status same = compare(seen.gets[3].keys, last); !same.ok()) {
    if (same.code() == StatusCode::Corruption) return refuse_history(same);
    return refuse(same.code(), same.message());  // An entry of a newer version.
  }
  if (cluster_id_.empty()) {
    if (Status adopted = events_.adopt(id[0].value); !adopted.ok()) {
      return refuse(adopted.code(), adopted.message());
    }
    cluster_id_ = id[0].value;
  }
  delete_refusal(seen.gets[4].keys);
  go_on(seen.gets[3].keys);
}

// `entry`: the entry of the newest batch that this node holds, if the log still has it.
void Node::go_on(const std::vector<etcd::KeyValue>& entry) {
  const bool is_known = follows_ || !entry.empty() || start_position_.index == base_;
  // Without that entry nobody can tell whether the next one of the log follows this node's batch.
  if (newest() < base_ || !is_known) return on_behind();
  if (!std::exchange(follows_, true)) {
    follower_.start({.next = start_position_.index + 1,
                     .previous = entry.empty() ? 0 : hash_of_entry(entry[0].value),
                     .base = base_});
    after(upkeep_interval, &Node::upkeep);
  } else if (!waits_for_replica_) {
    follower_.resume();
  }
  if (!std::exchange(has_lease_, true)) lease_.start();
}

// The node was refused once. It is a part of the cluster again, or its directory was emptied.
void Node::delete_refusal(const std::vector<etcd::KeyValue>& refusal) {
  if (refusal.empty()) return;
  remove(refusal[0]);
}

Status Node::compare(const std::vector<etcd::KeyValue>& entry, BatchIndex last) const {
  const BatchIndex index = newest();
  if (index > last) {
    return {StatusCode::Corruption,
            fmt::format("the data directory holds batch {}, and the log in etcd ends at {}", index,
                        last)};
  }
  if (entry.empty()) return {};
  const auto differs = [index] {
    return Status(
        StatusCode::Corruption,
        fmt::format("batch {} of the data directory is not that of the log in etcd", index));
  };
  if (follows_ && follower_.hash() != 0) {
    return hash_of_entry(entry[0].value) == follower_.hash() ? Status() : differs();
  }
  // A directory keeps no hashes of entries, so right after a start the batches are compared by
  // their times, which are in nanoseconds and differ between histories.
  const Result<Batch> batch = decode_entry(entry[0].value);
  if (!batch.ok()) return Status(batch.status()).with("the log in etcd");
  return batch->now() == start_position_.now ? Status() : differs();
}

// Bootstraps the cluster: its first node does that, with an empty directory.
void Node::found_cluster() {
  if (!cluster_id_.empty()) {
    return refuse(StatusCode::NotFound,
                  fmt::format("etcd holds no cluster {}, and the data directory belongs to one (id "
                              "{}); check `cluster.name` and `cluster.etcd`; if etcd was lost, see "
                              "`perennial cluster recover`",
                              options_.cluster, cluster_id_));
  }
  if (start_position_.index != 0) {
    return refuse(StatusCode::InvalidArgument,
                  fmt::format("the data directory holds jobs, and etcd holds no cluster {}; "
                              "`perennial cluster init` makes the directory its beginning",
                              options_.cluster));
  }
  etcd::Transaction found;
  found.conditions = {{.key = keys_.id(), .field = Compare::Field::Version, .number = 0}};
  found.then.emplace_back(etcd::Put{.key = keys_.id(), .value = options_.new_cluster_id});
  found.then.emplace_back(etcd::Put{.key = keys_.base(), .value = encode(0)});
  client_.commit(std::move(found), executor_.now() + call_timeout, [this](const auto& outcome) {
    if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) events_.failed(*failure);
    // Two nodes may do this at once, and the outcome may be unknown: reading the id says which won.
    after(retry_delay, &Node::join);
  });
}

void Node::on_granted(etcd::LeaseId lease) {
  if (ended_) return;
  election_.start(lease);
  node_revision_ = 0;
  if (std::exchange(publishes_, true)) return;
  publish();
}

}  // namespace perennial::store::cluster
