#include "cmd/perennial/cluster/expiring_key.h"

#include <utility>

namespace perennial::tool {

using store::etcd::Compare;
using store::etcd::Delete;
using store::etcd::Put;
using store::etcd::Transaction;

Result<uint64_t> put_for(EtcdCalls& etcd, const std::string& key, const std::string& value,
                         uint64_t seconds, std::vector<Compare> conditions) {
  const auto granted = etcd.grant(static_cast<int64_t>(seconds));
  if (!granted.ok()) return granted.status();
  Transaction put;
  put.conditions = std::move(conditions);
  put.then.emplace_back(Put{.key = key, .value = value, .lease = granted->lease});
  const auto done = etcd.commit(put);
  if (!done.ok()) return done.status();
  if (done->held) return static_cast<uint64_t>(granted->ttl_s);
  return Status(StatusCode::NotFound,
                "another node leads since the cluster was looked at, so nothing was asked: run it "
                "again");
}

Result<bool> remove_key(EtcdCalls& etcd, const std::string& key) {
  Transaction removal;
  removal.conditions = {{.key = key, .is = Compare::Is::NotEqual, .number = 0}};
  removal.then.emplace_back(Delete{{.key = key, .end = {}}});
  const auto done = etcd.commit(removal);
  if (!done.ok()) return done.status();
  return done->held;
}

}  // namespace perennial::tool
