#include "cmd/perennial/cluster/etcd_calls.h"
#include "cmd/perennial/cluster/node_calls.h"
#include "engine/types/check.h"

// For a program that is built without clusters (-DPERENNIAL_CLUSTER=OFF), in the place of
// etcd_calls.cc and node_calls.cc. There is never a client.
namespace perennial::tool {

Result<std::unique_ptr<EtcdCalls>> EtcdCalls::open(const perenniald::ClusterConfig& /*cluster*/) {
  return Status(StatusCode::Unsupported, "this perennial was built without clusters");
}

EtcdCalls::~EtcdCalls() = default;

Result<store::etcd::TransactionDone> EtcdCalls::commit(
    const store::etcd::Transaction& /*transaction*/) {
  CHECK(!"there is no client");
}

Result<store::etcd::LeaseGranted> EtcdCalls::grant(int64_t /*ttl_s*/) {
  CHECK(!"there is no client");
}

Result<store::etcd::LeaseLeft> EtcdCalls::time_to_live(store::etcd::LeaseId /*lease*/) {
  CHECK(!"there is no client");
}

std::vector<store::etcd::Outcome<store::etcd::MemberStatus>> EtcdCalls::member_statuses() {
  CHECK(!"there is no client");
}

Result<std::string> ask_node(const perenniald::ClusterConfig& /*cluster*/,
                             const std::string& /*address*/, const std::string& /*path*/,
                             int64_t /*seconds_max*/) {
  return Status(StatusCode::Unsupported, "this perennial was built without clusters");
}

}  // namespace perennial::tool
