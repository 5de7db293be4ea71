#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "engine/types/check.h"
#include "store/batch/batch_codec.h"
#include "store/cluster/node.h"
#include "store/cluster/timing.h"

// How a node joins its cluster, and when it may not (C7).
namespace perennial::store::cluster {

using etcd::Compare;
using etcd::Get;

void Node::join() {
  etcd::Transaction read;
  read.then.emplace_back(Get{.range = {.key = keys_.id(), .end = {}}});
  read.then.emplace_back(Get{.range = {.key = keys_.base(), .end = {}}});
  read.then.emplace_back(keys_.log_span());
  read.then.emplace_back(Get{.range = {.key = keys_.entry(holding_.index), .end = {}}});
  client_.commit(std::move(read), executor_.now() + call_timeout, [this](const auto& outcome) {
    if (!ended_) on_joining(outcome);
  });
}

void Node::on_joining(const etcd::Outcome<etcd::TransactionDone>& outcome) {
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
    events_.failed(*failure);
    return after(retry_delay, &Node::join);
  }
  const auto& seen = std::get<etcd::TransactionDone>(outcome);
  CHECK(seen.gets.size() == 4);
  const auto& id = seen.gets[0].keys;
  const auto& base = seen.gets[1].keys;
  if (id.empty()) return found_cluster();
  if (holding_.cluster_id.empty() && holding_.index != 0) {
    return refuse(
        StatusCode::InvalidArgument,
        fmt::format(
            "the data directory holds jobs and belongs to no cluster, and cluster "
            "{} exists already; if `perennial cluster init` was interrupted, run it again; else "
            "start with an empty directory, or move the jobs out of this one with "
            "`perennial export-beanstalkd`",
            options_.cluster));
  }
  if (!holding_.cluster_id.empty() && holding_.cluster_id != id[0].value) {
    return refuse(StatusCode::InvalidArgument,
                  fmt::format("the data directory belongs to another cluster: its id is {}, and "
                              "that of cluster {} in etcd is {}; check `cluster.name` and "
                              "`cluster.etcd`; after a `perennial cluster recover` of another "
                              "node, empty this directory",
                              holding_.cluster_id, options_.cluster, id[0].value));
  }
  base_ = base.empty() ? 0 : decode_number(base[0].value).value_or(0);
  const BatchIndex last = std::max(keys_.last_of(seen.gets[2]), base_);
  if (Status same = compare(seen.gets[3].keys, last); !same.ok()) {
    return refuse(same.code(), same.message());
  }
  if (holding_.cluster_id.empty()) {
    if (Status adopted = events_.adopt(id[0].value); !adopted.ok()) {
      return refuse(adopted.code(), adopted.message());
    }
  }
  if (holding_.index < base_) return on_behind();
  follower_.start(holding_.index + 1);
  lease_.start();
}

Status Node::compare(const std::vector<etcd::KeyValue>& entry, BatchIndex last) const {
  constexpr std::string_view way_out =
      "etcd was restored from an older snapshot, or its log belongs to another history; `perennial "
      "cluster recover` makes this directory the beginning of a new log, and etc/docs/cluster.md "
      "says what it cannot know";
  if (holding_.index > last) {
    return {StatusCode::Corruption,
            fmt::format("the data directory holds batch {}, and the log in etcd ends at {}: {}",
                        holding_.index, last, way_out)};
  }
  if (entry.empty()) return {};
  const Result<Batch> batch = decode_batch(entry[0].value);
  if (!batch.ok()) return Status(batch.status()).with("the log in etcd");
  if (batch->now() == holding_.now) return {};
  return {StatusCode::Corruption,
          fmt::format("batch {} of the data directory is not that of the log in etcd: {}",
                      holding_.index, way_out)};
}

// The first node of a cluster makes it, if it holds nothing.
void Node::found_cluster() {
  if (!holding_.cluster_id.empty()) {
    return refuse(StatusCode::NotFound,
                  fmt::format("etcd holds no cluster {}, and the data directory belongs to one (id "
                              "{}); check `cluster.name` and `cluster.etcd`; if etcd was lost, see "
                              "`perennial cluster recover`",
                              options_.cluster, holding_.cluster_id));
  }
  if (holding_.index != 0) {
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
    // Whatever came of it, reading says who has founded it.
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
