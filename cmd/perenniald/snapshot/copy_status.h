#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cmd/perenniald/config/cluster_config.h"
#include "engine/types/status.h"
#include "store/cluster/lease.h"
#include "store/cluster/records.h"
#include "store/etcd/etcd.h"
#include "store/etcd/grpc_executor.h"

namespace perennial::perenniald {

// Says in etcd that this node gets a copy of another one's database, and how far it is, for
// `perennial cluster status`. The key belongs to a lease of its own. Failed calls are retried, and
// nobody waits for them.
class CopyStatus {
 public:
  CopyStatus(const ClusterConfig& config, const std::string& version);
  // Revokes the lease, which deletes the key. If etcd does not answer within a second, it expires.
  ~CopyStatus();
  CopyStatus(const CopyStatus&) = delete;
  CopyStatus& operator=(const CopyStatus&) = delete;

  // From whom the copy comes, how large it is, and how much of it has come. Any thread.
  void set(const std::string& from, uint64_t bytes, uint64_t received_bytes);

 private:
  void begin();
  void publish();
  store::cluster::CopyRecord record() const;

  const std::string key_;
  const int64_t lease_s_;
  store::etcd::GrpcExecutor executor_;
  std::unique_ptr<store::etcd::Client> client_;  // Null: the settings do not suffice for one.

  // What the executor's thread alone uses.
  std::optional<store::cluster::Lease> lease_;
  store::etcd::LeaseId published_lease_ = 0;
  store::cluster::CopyRecord published_;
  bool is_over_ = false;

  mutable std::mutex mutex_;  // Guards the record.
  store::cluster::CopyRecord record_;
};

}  // namespace perennial::perenniald
