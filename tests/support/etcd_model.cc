#include "tests/support/etcd_model.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "engine/types/check.h"

namespace perennial::support {

using etcd::CallError;
using etcd::Compacted;
using etcd::Compare;
using etcd::Delete;
using etcd::Failure;
using etcd::Found;
using etcd::Get;
using etcd::KeyRange;
using etcd::KeyValue;
using etcd::LeaseGranted;
using etcd::LeaseId;
using etcd::LeaseKept;
using etcd::LeaseRevoked;
using etcd::Operation;
using etcd::Outcome;
using etcd::Put;
using etcd::Revision;
using etcd::Transaction;
using etcd::TransactionDone;
using etcd::WatchEvent;

namespace {

constexpr int64_t ttl_s_max = 9'000'000'000;
// What etcd's quota counts for a key besides its bytes.
constexpr int64_t key_overhead_bytes = 256;
constexpr int64_t lease_bytes = 64;
// The length and the tag of a field in a request.
constexpr size_t field_bytes = 5;

Failure failure(CallError error, std::string_view message) {
  return {error, "etcdserver: " + std::string(message)};
}

Failure future_revision() {
  return failure(CallError::Invalid, "mvcc: required revision is a future revision");
}

Failure compacted_revision() {
  return failure(CallError::Compacted, "mvcc: required revision has been compacted");
}

bool contains(const KeyRange& range, const std::string& key) {
  return range.end.empty() ? key == range.key : range.key <= key && key < range.end;
}

const std::string& key_of(const Operation& operation) {
  if (const auto* put = std::get_if<Put>(&operation)) return put->key;
  if (const auto* get = std::get_if<Get>(&operation)) return get->range.key;
  return std::get<Delete>(operation).range.key;
}

// What is wrong with the operations, whether they are done or not.
std::optional<Failure> problem_of(const std::vector<Operation>& operations) {
  std::vector<KeyRange> deleted;
  for (const Operation& operation : operations) {
    if (key_of(operation).empty()) return failure(CallError::Invalid, "key is not provided");
    if (const auto* one = std::get_if<Delete>(&operation)) deleted.push_back(one->range);
  }
  std::set<std::string_view> puts;
  for (const Operation& operation : operations) {
    const auto* put = std::get_if<Put>(&operation);
    if (put == nullptr) continue;
    const bool is_deleted = std::any_of(deleted.begin(), deleted.end(), [&](const KeyRange& range) {
      return contains(range, put->key);
    });
    if (is_deleted || !puts.insert(put->key).second) {
      return failure(CallError::Invalid, "duplicate key given in txn request");
    }
  }
  return std::nullopt;
}

int64_t put_bytes(const std::vector<Operation>& operations) {
  int64_t bytes = 0;
  for (const Operation& operation : operations) {
    const auto* put = std::get_if<Put>(&operation);
    if (put == nullptr) continue;
    bytes += static_cast<int64_t>(put->key.size() + put->value.size()) + key_overhead_bytes;
  }
  return bytes;
}

// About as many as protobuf takes.
size_t request_bytes(const Transaction& transaction) {
  size_t bytes = 0;
  for (const Compare& condition : transaction.conditions) {
    bytes += condition.key.size() + 3 * field_bytes;
  }
  for (const auto* branch : {&transaction.then, &transaction.otherwise}) {
    for (const Operation& operation : *branch) {
      bytes += key_of(operation).size() + 2 * field_bytes;
      if (const auto* put = std::get_if<Put>(&operation)) bytes += put->value.size() + field_bytes;
    }
  }
  return bytes;
}

bool is_read_only(const Transaction& transaction) {
  const auto all_gets = [](const std::vector<Operation>& operations) {
    return std::all_of(operations.begin(), operations.end(), [](const Operation& operation) {
      return std::holds_alternative<Get>(operation);
    });
  };
  return all_gets(transaction.then) && all_gets(transaction.otherwise);
}

int64_t bytes_of(const KeyValue& version) {
  return static_cast<int64_t>(version.key.size() + version.value.size()) + key_overhead_bytes;
}

// The version as of the revision, or null if the key was not there.
const KeyValue* version_at(const std::vector<KeyValue>& versions, Revision revision) {
  const auto found = std::find_if(versions.rbegin(), versions.rend(), [&](const KeyValue& one) {
    return one.mod_revision <= revision;
  });
  return found == versions.rend() || found->version == 0 ? nullptr : &*found;
}

}  // namespace

// A transaction that is being done.
struct EtcdModel::Applied {
  bool has_changed = false;
  TransactionDone done = {};
};

Outcome<Found> EtcdModel::get(const Get& request) const {
  if (request.range.key.empty()) return failure(CallError::Invalid, "key is not provided");
  if (request.revision > revision_) return future_revision();
  if (request.revision > 0 && request.revision < compacted_) return compacted_revision();
  return read(request, revision_);
}

Outcome<TransactionDone> EtcdModel::commit(const Transaction& transaction) {
  const auto is_long = [&](size_t count) { return count > limits_.operations_max; };
  if (is_long(transaction.conditions.size()) || is_long(transaction.then.size()) ||
      is_long(transaction.otherwise.size())) {
    return failure(CallError::Invalid, "too many operations in txn request");
  }
  for (const Compare& condition : transaction.conditions) {
    if (condition.key.empty()) return failure(CallError::Invalid, "key is not provided");
  }
  for (const auto* branch : {&transaction.then, &transaction.otherwise}) {
    if (auto problem = problem_of(*branch)) return *problem;
  }
  if (!is_read_only(transaction) && request_bytes(transaction) > limits_.request_bytes_max) {
    return failure(CallError::TooLarge, "request is too large");
  }
  // Also the branch that is not done counts.
  if (is_full(std::max(put_bytes(transaction.then), put_bytes(transaction.otherwise)))) {
    return failure(CallError::NoSpace, "mvcc: database space exceeded");
  }

  Applied applied;
  applied.done.held = std::all_of(transaction.conditions.begin(), transaction.conditions.end(),
                                  [&](const Compare& condition) { return holds(condition); });
  const auto& operations = applied.done.held ? transaction.then : transaction.otherwise;
  if (auto problem = problem_now(operations)) return *problem;
  for (const Operation& operation : operations) {
    std::visit([&](const auto& one) { apply(one, applied); }, operation);
  }
  if (applied.has_changed) ++revision_;
  applied.done.revision = revision_;
  for (Found& found : applied.done.gets) found.revision = revision_;
  return applied.done;
}

Outcome<Compacted> EtcdModel::compact(Revision revision) {
  if (revision <= compacted_) return compacted_revision();
  if (revision > revision_) return future_revision();
  compacted_ = revision;
  std::set<std::string> changed;
  const auto end = changes_.upper_bound(revision);
  for (auto change = changes_.begin(); change != end; ++change) {
    changed.insert(change->second.begin(), change->second.end());
  }
  changes_.erase(changes_.begin(), changes_.lower_bound(revision));
  for (const std::string& key : changed) {
    const auto found = keys_.find(key);
    if (found == keys_.end()) continue;  // Deleted in the revision of the last compaction.
    std::vector<KeyValue>& versions = found->second;
    auto kept = std::find_if(versions.begin(), versions.end(), [&](const KeyValue& version) {
      return version.mod_revision > revision;
    });
    if (kept != versions.begin() && std::prev(kept)->version != 0) --kept;
    std::for_each(versions.begin(), kept,
                  [&](const KeyValue& old) { used_bytes_ -= bytes_of(old); });
    versions.erase(versions.begin(), kept);
    if (versions.empty()) keys_.erase(found);
  }
  return Compacted{};
}

Outcome<LeaseGranted> EtcdModel::grant(LeaseId id, int64_t ttl_s) {
  if (ttl_s > ttl_s_max) return failure(CallError::Invalid, "too large lease TTL");
  if (is_full(lease_bytes)) return failure(CallError::NoSpace, "mvcc: database space exceeded");
  CHECK(id > 0);
  CHECK(!leases_.contains(id));
  const int64_t granted_s = std::max(ttl_s, limits_.ttl_s_min);
  leases_[id] = {.ttl_s = granted_s, .keys = {}};
  return LeaseGranted{id, granted_s};
}

Outcome<LeaseKept> EtcdModel::keep_alive(LeaseId id) const {
  const auto found = leases_.find(id);
  if (found == leases_.end()) {
    return failure(CallError::LeaseNotFound, "requested lease not found");
  }
  return LeaseKept{found->second.ttl_s};
}

Outcome<LeaseRevoked> EtcdModel::revoke(LeaseId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) {
    return failure(CallError::LeaseNotFound, "requested lease not found");
  }
  const Lease lease = std::move(found->second);
  leases_.erase(found);
  for (const std::string& key : lease.keys) remove(key, revision_ + 1);
  if (!lease.keys.empty()) ++revision_;
  return LeaseRevoked{};
}

std::vector<WatchEvent> EtcdModel::events(const KeyRange& range, Revision revision) const {
  std::vector<WatchEvent> events;
  const auto change = changes_.find(revision);
  if (change == changes_.end()) return events;
  for (const std::string& key : change->second) {
    if (!contains(range, key)) continue;
    const auto versions = keys_.find(key);
    if (versions == keys_.end()) continue;
    for (const KeyValue& version : versions->second) {
      if (version.mod_revision == revision) events.push_back({version.version == 0, version});
    }
  }
  return events;
}

const KeyValue* EtcdModel::find(const std::string& key, Revision revision) const {
  const auto versions = keys_.find(key);
  return versions == keys_.end() ? nullptr : version_at(versions->second, revision);
}

// All leases are looked at before any revision.
std::optional<Failure> EtcdModel::problem_now(const std::vector<Operation>& operations) const {
  for (const Operation& operation : operations) {
    const auto* put = std::get_if<Put>(&operation);
    if (put == nullptr || put->lease == 0 || leases_.contains(put->lease)) continue;
    return failure(CallError::LeaseNotFound, "requested lease not found");
  }
  for (const Operation& operation : operations) {
    const auto* get = std::get_if<Get>(&operation);
    if (get == nullptr || get->revision == 0) continue;
    if (get->revision > revision_) return future_revision();
    if (get->revision < compacted_) return compacted_revision();
  }
  return std::nullopt;
}

Found EtcdModel::read(const Get& request, Revision current) const {
  Found found;
  found.revision = current;
  const Revision revision = request.revision > 0 ? request.revision : current;
  std::vector<const KeyValue*> all;
  for (auto key = keys_.lower_bound(request.range.key); key != keys_.end(); ++key) {
    if (!contains(request.range, key->first)) break;
    if (const KeyValue* version = version_at(key->second, revision)) all.push_back(version);
  }
  found.count = static_cast<int64_t>(all.size());
  if (request.limit > 0 && request.limit < found.count) {
    found.more = true;
    all.resize(static_cast<size_t>(request.limit));
  }
  for (const KeyValue* version : all) {
    found.keys.push_back(*version);
    if (request.keys_only) found.keys.back().value.clear();
  }
  return found;
}

bool EtcdModel::holds(const Compare& condition) const {
  const KeyValue* key = find(condition.key, revision_);
  int64_t number = 0;
  if (key != nullptr) {
    switch (condition.field) {
      case Compare::Field::Version:
        number = key->version;
        break;
      case Compare::Field::CreateRevision:
        number = key->create_revision;
        break;
      case Compare::Field::ModRevision:
        number = key->mod_revision;
        break;
    }
  }
  switch (condition.is) {
    case Compare::Is::Equal:
      return number == condition.number;
    case Compare::Is::NotEqual:
      return number != condition.number;
    case Compare::Is::Greater:
      return number > condition.number;
    case Compare::Is::Less:
      return number < condition.number;
  }
  CHECK(!"a comparison that is none");
  return false;
}

bool EtcdModel::is_full(int64_t bytes) {
  if (bytes == 0) return false;
  if (database_bytes_ + bytes >= limits_.quota_bytes) has_alarm_ = true;
  return has_alarm_;
}

void EtcdModel::add(KeyValue version) {
  used_bytes_ += bytes_of(version);
  database_bytes_ = std::max(database_bytes_, used_bytes_);
  std::vector<std::string>& changed = changes_[version.mod_revision];
  changed.push_back(version.key);
  std::vector<KeyValue>& versions = keys_[version.key];
  versions.push_back(std::move(version));
}

void EtcdModel::apply(const Put& put, Applied& applied) {
  const Revision revision = revision_ + 1;
  const KeyValue* before = find(put.key, revision);
  const LeaseId old_lease = before == nullptr ? 0 : before->lease;
  if (old_lease != 0) leases_.at(old_lease).keys.erase(put.key);
  if (put.lease != 0) leases_.at(put.lease).keys.insert(put.key);
  add({.key = put.key,
       .value = put.value,
       .create_revision = before == nullptr ? revision : before->create_revision,
       .mod_revision = revision,
       .version = before == nullptr ? 1 : before->version + 1,
       .lease = put.lease});
  applied.has_changed = true;
}

void EtcdModel::apply(const Delete& deletion, Applied& applied) {
  const Revision revision = revision_ + 1;
  for (const KeyValue& key : read({.range = deletion.range, .keys_only = true}, revision).keys) {
    if (key.lease != 0) leases_.at(key.lease).keys.erase(key.key);
    remove(key.key, revision);
    applied.has_changed = true;
  }
}

// Within a transaction a read sees what was done before it.
void EtcdModel::apply(const Get& get, Applied& applied) {
  applied.done.gets.push_back(read(get, applied.has_changed ? revision_ + 1 : revision_));
}

void EtcdModel::remove(const std::string& key, Revision revision) {
  KeyValue deletion;
  deletion.key = key;
  deletion.mod_revision = revision;
  add(std::move(deletion));
}

}  // namespace perennial::support
