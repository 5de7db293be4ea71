#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cmd/perenniald/config/cluster_config.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/etcd/etcd.h"

namespace perennial::tool {

// How long a call waits for etcd, over all its tries.
inline constexpr Nanos etcd_timeout = 3 * nanos_per_second;

// A client of etcd for a program that waits for each answer. Not for several threads.
class EtcdCalls {
 public:
  // InvalidArgument: the settings name a file that cannot be used. Unsupported: the program was
  // built without clusters.
  static Result<std::unique_ptr<EtcdCalls>> open(const perenniald::ClusterConfig& cluster);
  ~EtcdCalls();

  // Waits for the outcome, and tries again on the other members where it is not known. So the
  // transaction may happen twice. It changes keys only under a condition that it ends itself, or
  // means the same twice. An error names all endpoints.
  Result<store::etcd::TransactionDone> commit(const store::etcd::Transaction& transaction);

  // A lease that nobody renews. Where a first try was not known to be done, its lease ends without
  // a key.
  Result<store::etcd::LeaseGranted> grant(int64_t ttl_s);
  // What is left of it.
  Result<store::etcd::LeaseLeft> time_to_live(store::etcd::LeaseId lease);

  // What each member says of itself, in the order of the endpoints. Asks all at once.
  std::vector<store::etcd::Outcome<store::etcd::MemberStatus>> member_statuses();

 private:
  struct Etcd;
  using EtcdPointer = std::unique_ptr<Etcd, void (*)(Etcd*)>;
  EtcdCalls(std::vector<std::string> endpoints, EtcdPointer etcd);

  // Begins a call on the executor's thread.
  template <typename T>
  using Ask =
      std::function<void(store::etcd::Client& client, Nanos deadline, store::etcd::Done<T> done)>;
  template <typename T>
  Result<T> call(const Ask<T>& ask);
  template <typename T>
  store::etcd::Outcome<T> call_once(const Ask<T>& ask, Nanos deadline);

  const std::vector<std::string> endpoints_;
  const EtcdPointer etcd_;
};

}  // namespace perennial::tool
