#include "cmd/perenniald/snapshot/copy_status.h"

#include <future>
#include <utility>
#include <variant>

#include "cmd/perenniald/etcd/etcd_connection.h"
#include "store/cluster/keys.h"
#include "store/cluster/timing.h"

namespace perennial::perenniald {

using store::cluster::call_timeout;
using store::cluster::CopyRecord;

CopyStatus::CopyStatus(const ClusterConfig& config, const std::string& version)
    : key_(store::cluster::Keys(config.name).copy(config.node)),
      lease_s_(static_cast<int64_t>(config.lease_s)),
      record_({.node = config.node,
               .from = {},
               .client_address = config.client_address,
               .peer_address = config.peer_address,
               .version = version}) {
  Result<std::unique_ptr<store::etcd::GrpcClient>> client = open_etcd(config, executor_);
  if (!client.ok()) return;  // Whoever looks for the other nodes meets the same, and says so.
  client_ = client.take();
  executor_.post([this] { begin(); });
}

CopyStatus::~CopyStatus() {
  if (client_ == nullptr) return;
  std::promise<void> revoked;
  executor_.post([this, &revoked] {
    is_over_ = true;
    if (lease_->id() == 0) return revoked.set_value();
    client_->revoke(lease_->id(), executor_.now() + call_timeout,
                    [&revoked](const auto&) { revoked.set_value(); });
  });
  revoked.get_future().wait();
  executor_.stop();
  lease_.reset();
  client_.reset();
}

void CopyStatus::set(const std::string& from, uint64_t bytes, uint64_t received_bytes) {
  const std::lock_guard lock(mutex_);
  record_.from = from;
  record_.bytes = bytes;
  record_.received_bytes = received_bytes;
}

CopyRecord CopyStatus::record() const {
  const std::lock_guard lock(mutex_);
  return record_;
}

void CopyStatus::begin() {
  store::cluster::Lease::Events events;
  events.granted = [](store::etcd::LeaseId) {};
  events.lost = [this](const std::string&) { lease_->start(); };
  events.failed = [](const store::etcd::Failure&) {};
  lease_.emplace(executor_, *client_, lease_s_, std::move(events));
  lease_->start();
  publish();
}

// Once a second, if there is something new to say.
void CopyStatus::publish() {
  if (is_over_) return;
  const CopyRecord now = record();
  const store::etcd::LeaseId lease = lease_->id();
  if (lease == 0 || (lease == published_lease_ && now == published_)) {
    // The first time is soon after the lease was granted.
    executor_.after(lease == 0 ? store::cluster::retry_delay : store::cluster::publish_interval,
                    [this] { publish(); });
    return;
  }
  store::etcd::Transaction write;
  write.then.emplace_back(
      store::etcd::Put{.key = key_, .value = store::cluster::encode(now), .lease = lease});
  client_->commit(std::move(write), executor_.now() + call_timeout,
                  [this, lease, now](const auto& outcome) {
                    if (std::get_if<store::etcd::Failure>(&outcome) == nullptr) {
                      published_lease_ = lease;
                      published_ = now;
                    }
                    executor_.after(store::cluster::publish_interval, [this] { publish(); });
                  });
}

}  // namespace perennial::perenniald
