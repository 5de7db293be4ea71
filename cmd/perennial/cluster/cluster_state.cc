#include "cmd/perennial/cluster/cluster_state.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <random>
#include <utility>

#include <fmt/format.h>

namespace perennial::tool {

using store::cluster::CopyRecord;
using store::cluster::Keys;
using store::cluster::NodeRecord;
using store::cluster::RefusalRecord;
using store::cluster::Role;
using store::etcd::Compare;
using store::etcd::Delete;
using store::etcd::Get;
using store::etcd::KeyValue;
using store::etcd::Put;
using store::etcd::Transaction;
using store::etcd::TransactionDone;

namespace {

// What is left of what was asked for for a while.
Status read_leases(EtcdCalls& etcd, const Keys& keys, const TransactionDone& done,
                   ClusterState& state) {
  for (const KeyValue& key : done.gets.at(9).keys) {
    const auto left = etcd.time_to_live(key.lease);
    if (!left.ok()) return left.status();
    state.resigned_left_s[key.key.substr(keys.resignations().size())] = left->ttl_s;
  }
  for (const KeyValue& key : done.gets.at(10).keys) {
    const auto left = etcd.time_to_live(key.lease);
    if (!left.ok()) return left.status();
    state.paused_left_s = left->ttl_s;
  }
  return {};
}

}  // namespace

std::optional<int64_t> ClusterState::clock_ahead_s(const NodeRecord& node) const {
  const auto tells_time = [](const NodeRecord& each) {
    return each.time_ms != 0 && each.role == store::cluster::Role::Leader;
  };
  const auto teller = std::ranges::find_if(nodes, tells_time);
  if (node.clock_ms == 0 || teller == nodes.end()) return std::nullopt;
  constexpr double ms_per_second = 1000;
  return std::llround((static_cast<double>(node.clock_ms) - static_cast<double>(teller->time_ms)) /
                      ms_per_second);
}

const NodeRecord* ClusterState::find_node(const std::string& name) const {
  const auto node = std::ranges::find(nodes, name, &NodeRecord::node);
  return node == nodes.end() ? nullptr : &*node;
}

size_t ClusterState::recent_elections() const {
  uint64_t now_ms = 0;
  for (const NodeRecord& node : nodes) now_ms = std::max(now_ms, node.clock_ms);
  constexpr uint64_t window_ms = election_window_s * 1000;
  if (now_ms == 0) return 0;
  return static_cast<size_t>(std::ranges::count_if(
      elections, [&](uint64_t time_ms) { return time_ms + window_ms >= now_ms; }));
}

std::vector<std::string> ClusterState::settings_differ(const NodeRecord& node) const {
  const NodeRecord* const leading = leader ? find_node(leader->node) : nullptr;
  if (leading == nullptr) return {};
  return store::cluster::differing(node.settings, leading->settings);
}

Result<ClusterState> read_cluster_state(EtcdCalls& etcd, const Keys& keys) {
  Transaction read;
  for (const std::string& key :
       {keys.id(), keys.origin(), keys.base(), keys.epoch(), keys.leader()}) {
    read.then.emplace_back(Get{.range = {.key = key, .end = {}}});
  }
  read.then.emplace_back(Get{.range = store::etcd::keys_with_prefix(keys.nodes())});
  read.then.emplace_back(keys.log_span());
  read.then.emplace_back(Get{.range = store::etcd::keys_with_prefix(keys.copies())});
  read.then.emplace_back(Get{.range = store::etcd::keys_with_prefix(keys.refusals())});
  std::ranges::move(store::cluster::maintenance_reads(keys), std::back_inserter(read.then));
  read.then.emplace_back(Get{.range = store::etcd::keys_with_prefix(keys.repairs())});
  read.then.emplace_back(Get{.range = {.key = keys.elections(), .end = {}}});
  const Result<TransactionDone> done = etcd.commit(read);
  if (!done.ok()) return done.status();
  const auto first_of = [&](size_t get) -> const KeyValue* {
    const std::vector<KeyValue>& found = done->gets.at(get).keys;
    return found.empty() ? nullptr : &found[0];
  };
  const auto number_of = [&](const KeyValue* key) {
    return key == nullptr ? 0 : store::cluster::decode_number(key->value).value_or(0);
  };
  ClusterState state;
  if (const KeyValue* const id = first_of(0)) {
    state.id = id->value;
    state.id_revision = id->mod_revision;
  }
  if (const KeyValue* const origin = first_of(1)) state.origin = origin->value;
  state.base = number_of(first_of(2));
  if (const KeyValue* const elections = first_of(12)) {
    state.elections = store::cluster::decode_elections(elections->value);
  }
  state.epoch = number_of(first_of(3));
  if (const KeyValue* const epoch = first_of(3)) state.epoch_revision = epoch->mod_revision;
  if (const KeyValue* const leader = first_of(4)) {
    state.leader = store::cluster::decode_leader(leader->value);
    state.leader_revision = leader->mod_revision;
  }
  for (const KeyValue& key : done->gets[5].keys) {
    std::optional<NodeRecord> node = store::cluster::decode_node(key.value);
    if (!node) continue;
    // Its own key says so up to a second later.
    if (state.leader && state.leader->node == node->node) node->role = Role::Leader;
    state.nodes.push_back(std::move(*node));
  }
  for (const KeyValue& key : done->gets[7].keys) {
    std::optional<CopyRecord> copy = store::cluster::decode_copy(key.value);
    // Its key may outlast the copy by a lease.
    if (copy && state.find_node(copy->node) == nullptr) state.copies.push_back(*std::move(copy));
  }
  for (const KeyValue& key : done->gets[8].keys) {
    std::optional<RefusalRecord> refusal = store::cluster::decode_refusal(key.value);
    if (refusal) state.refusals.push_back(*std::move(refusal));
  }
  if (const KeyValue* const first = first_of(6)) {
    state.first = keys.index_of(first->key).value_or(0);
  }
  state.last = std::max(keys.last_of(done->gets[6]), state.base);
  state.entries = static_cast<uint64_t>(done->gets[6].count);
  state.maintenance = store::cluster::maintenance_of(keys, done->gets, 9);
  for (const KeyValue& key : done->gets[11].keys) {
    state.repairs.insert(key.key.substr(keys.repairs().size()));
  }
  if (Status read_left = read_leases(etcd, keys, *done, state); !read_left.ok()) return read_left;
  return state;
}

Status begin_log(EtcdCalls& etcd, const Keys& keys, const ClusterState& seen, const NewLog& log) {
  Transaction begin;
  const auto unchanged = [&](const std::string& key, store::etcd::Revision revision) {
    begin.conditions.push_back(
        {.key = key, .field = Compare::Field::ModRevision, .number = revision});
  };
  unchanged(keys.id(), seen.id_revision);
  unchanged(keys.epoch(), seen.epoch_revision);
  unchanged(keys.leader(), 0);
  begin.then.emplace_back(Put{.key = keys.id(), .value = log.id});
  begin.then.emplace_back(Put{.key = keys.origin(), .value = log.origin});
  begin.then.emplace_back(Put{.key = keys.base(), .value = store::cluster::encode(log.base)});
  if (log.epoch != 0) {
    begin.then.emplace_back(Put{.key = keys.epoch(), .value = store::cluster::encode(log.epoch)});
  }
  begin.then.emplace_back(Delete{keys.entries_from(0)});
  begin.then.emplace_back(Delete{{.key = keys.handover(), .end = {}}});
  begin.then.emplace_back(Delete{{.key = keys.next(), .end = {}}});
  begin.then.emplace_back(Delete{store::etcd::keys_with_prefix(keys.refusals())});
  begin.then.emplace_back(Delete{store::etcd::keys_with_prefix(keys.resignations())});
  begin.then.emplace_back(Delete{{.key = keys.pause(), .end = {}}});
  begin.then.emplace_back(Delete{store::etcd::keys_with_prefix(keys.repairs())});
  begin.otherwise.emplace_back(Get{.range = {.key = keys.id(), .end = {}}});
  const Result<TransactionDone> done = etcd.commit(begin);
  if (!done.ok()) return done.status();
  if (done->held) return {};
  // An earlier try was done, and its answer was lost.
  const std::vector<KeyValue>& id = done->gets.at(0).keys;
  if (!id.empty() && id[0].value == log.id) return {};
  return {StatusCode::InvalidArgument,
          "the cluster in etcd has changed meanwhile: another command or a node is at work there; "
          "look at it with `perennial cluster status`"};
}

std::string random_identity() {
  std::random_device random;
  std::string id;
  for (int i = 0; i < 4; ++i) id += fmt::format("{:08x}", random());
  return id;
}

}  // namespace perennial::tool
