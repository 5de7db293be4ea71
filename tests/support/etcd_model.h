#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "store/etcd/etcd.h"

namespace perennial::support {

namespace etcd = store::etcd;

// What etcd 3.4 decides when it applies a request, as seen on version 3.4.23: keys with all their
// revisions, leases without time, and the quota. A plain value: a copy is a snapshot. Messages are
// etcd's.
class EtcdModel {
 public:
  struct Limits {
    int64_t quota_bytes = int64_t{2} << 30;      // --quota-backend-bytes
    size_t request_bytes_max = size_t{3} << 19;  // --max-request-bytes
    size_t operations_max = 128;                 // --max-txn-ops
    int64_t ttl_s_min = 2;  // An election's longest time, rounded up to a second.
  };
  struct Lease {
    int64_t ttl_s = 0;
    std::set<std::string> keys;
  };

  EtcdModel() = default;
  explicit EtcdModel(Limits limits) : limits_(limits) {}

  etcd::Outcome<etcd::Found> get(const etcd::Get& request) const;
  etcd::Outcome<etcd::TransactionDone> commit(const etcd::Transaction& transaction);
  etcd::Outcome<etcd::Compacted> compact(etcd::Revision revision);
  // REQUIRES: `id` was never granted.
  etcd::Outcome<etcd::LeaseGranted> grant(etcd::LeaseId id, int64_t ttl_s);
  etcd::Outcome<etcd::LeaseKept> keep_alive(etcd::LeaseId id) const;
  // Also what etcd does when a lease expires.
  etcd::Outcome<etcd::LeaseRevoked> revoke(etcd::LeaseId id);

  etcd::Revision revision() const { return revision_; }
  etcd::Revision compacted() const { return compacted_; }
  // The events of one revision in the range, in the order in which they happened. The deletes of
  // the revision up to which the history is compacted are gone; in etcd they go a moment later.
  std::vector<etcd::WatchEvent> events(const etcd::KeyRange& range, etcd::Revision revision) const;
  const std::map<etcd::LeaseId, Lease>& leases() const { return leases_; }

  // Of the file, which never shrinks by itself.
  int64_t database_bytes() const { return database_bytes_; }
  // The quota is used up: set by the first request that would pass it, and stays set.
  bool has_alarm() const { return has_alarm_; }
  void disarm() { has_alarm_ = false; }
  void defragment() { database_bytes_ = used_bytes_; }
  // Another program has used up the quota, and deleted and compacted what it wrote.
  void fill() {
    database_bytes_ = std::max(database_bytes_, limits_.quota_bytes);
    has_alarm_ = true;
  }

 private:
  struct Applied;

  // The key as of the revision, or null.
  const etcd::KeyValue* find(const std::string& key, etcd::Revision revision) const;
  etcd::Found read(const etcd::Get& request, etcd::Revision current) const;
  bool holds(const etcd::Compare& condition) const;
  // Why the operations cannot be done in the present state.
  std::optional<etcd::Failure> problem_now(const std::vector<etcd::Operation>& operations) const;
  // A request that puts `bytes` finds no space.
  bool is_full(int64_t bytes);
  void add(etcd::KeyValue version);
  void apply(const etcd::Put& put, Applied& applied);
  void apply(const etcd::Delete& deletion, Applied& applied);
  void apply(const etcd::Get& get, Applied& applied);
  void remove(const std::string& key, etcd::Revision revision);

  Limits limits_;
  etcd::Revision revision_ = 1;
  etcd::Revision compacted_ = 0;
  // The versions of each key by mod revision, ascending. One with the version 0 is a deletion.
  std::map<std::string, std::vector<etcd::KeyValue>> keys_;
  // The keys that each revision changed, in order.
  std::map<etcd::Revision, std::vector<std::string>> changes_;
  std::map<etcd::LeaseId, Lease> leases_;
  int64_t used_bytes_ = 0;
  int64_t database_bytes_ = 0;
  bool has_alarm_ = false;
};

}  // namespace perennial::support
