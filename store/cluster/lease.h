#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "engine/types/basic.h"
#include "store/etcd/etcd.h"

namespace perennial::store::cluster {

// The lease of this node in etcd, kept alive. etcd deletes its keys when it expires.
//
// Until held_until() this node may rely on the lease, by this machine's own clock: the time is
// counted from before the call that renewed it, less a margin of a fifth for a clock that runs slow
// (C5). etcd counts from later, so nobody else sees the lease expire before this node does.
class Lease {
 public:
  struct Events {
    std::function<void(etcd::LeaseId)> granted;
    // The lease has expired, or held_until() has passed. A leader stops at once. start() asks for
    // another lease.
    std::function<void(std::string why)> lost;
    // An attempt failed and will be retried.
    std::function<void(const etcd::Failure&)> failed;
  };

  // `executor` and `client` outlive this. lease_s: 5 or more.
  Lease(etcd::Executor& executor, etcd::Client& client, int64_t lease_s, Events events);

  // Asks for a lease until there is one. REQUIRES: there is none.
  void start();
  // Revokes the lease, which deletes its keys. If etcd cannot be reached, the lease expires.
  // `done` is called when etcd has answered or cannot be reached.
  void revoke(std::function<void()> done = [] {});

  etcd::LeaseId id() const { return id_; }
  // By Executor::now(). 0: there is no lease. Thread-safe.
  Nanos held_until() const { return held_until_.load(std::memory_order_acquire); }

 private:
  void grant();
  void keep_alive();
  void on_kept(Nanos asked_at, const etcd::Outcome<etcd::LeaseKept>& outcome);
  void renew(Nanos asked_at, int64_t ttl_s);
  void watch_end();
  void lose(std::string why);
  void after(Nanos delay, void (Lease::*step)());

  etcd::Executor& executor_;
  etcd::Client& client_;
  const int64_t lease_s_;
  const Events events_;
  etcd::LeaseId id_ = 0;
  // Counts start(), lose() and revoke(). An answer to a call for an earlier lease is ignored.
  uint64_t generation_ = 0;
  std::atomic<Nanos> held_until_ = 0;
};

}  // namespace perennial::store::cluster
