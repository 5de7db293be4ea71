#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "store/etcd/etcd.h"

namespace perennial::support {

// A client that passes every call on to another. A test overrides the calls that it changes or
// looks at.
class EtcdClientWrapper : public store::etcd::Client {
 public:
  explicit EtcdClientWrapper(std::unique_ptr<store::etcd::Client> real) : real_(std::move(real)) {}

  void get(store::etcd::Get request, Nanos deadline,
           store::etcd::Done<store::etcd::Found> done) override {
    real_->get(std::move(request), deadline, std::move(done));
  }
  void commit(store::etcd::Transaction transaction, Nanos deadline,
              store::etcd::Done<store::etcd::TransactionDone> done) override {
    real_->commit(std::move(transaction), deadline, std::move(done));
  }
  void compact(store::etcd::Revision revision, Nanos deadline,
               store::etcd::Done<store::etcd::Compacted> done) override {
    real_->compact(revision, deadline, std::move(done));
  }
  void grant(int64_t ttl_s, Nanos deadline,
             store::etcd::Done<store::etcd::LeaseGranted> done) override {
    real_->grant(ttl_s, deadline, std::move(done));
  }
  void keep_alive(store::etcd::LeaseId lease, Nanos deadline,
                  store::etcd::Done<store::etcd::LeaseKept> done) override {
    real_->keep_alive(lease, deadline, std::move(done));
  }
  void revoke(store::etcd::LeaseId lease, Nanos deadline,
              store::etcd::Done<store::etcd::LeaseRevoked> done) override {
    real_->revoke(lease, deadline, std::move(done));
  }
  void time_to_live(store::etcd::LeaseId lease, Nanos deadline,
                    store::etcd::Done<store::etcd::LeaseLeft> done) override {
    real_->time_to_live(lease, deadline, std::move(done));
  }
  store::etcd::WatchId watch(store::etcd::KeyRange range, store::etcd::Revision from,
                             std::function<void(store::etcd::WatchReport)> report) override {
    return real_->watch(std::move(range), from, std::move(report));
  }
  void cancel_watch(store::etcd::WatchId watch) override { real_->cancel_watch(watch); }
  void member_status(size_t member, Nanos deadline,
                     store::etcd::Done<store::etcd::MemberStatus> done) override {
    real_->member_status(member, deadline, std::move(done));
  }
  void disarm(store::etcd::Alarm alarm, Nanos deadline,
              store::etcd::Done<store::etcd::AlarmDisarmed> done) override {
    real_->disarm(alarm, deadline, std::move(done));
  }
  size_t members() const override { return real_->members(); }
  void prefer(size_t member) override { real_->prefer(member); }

 private:
  const std::unique_ptr<store::etcd::Client> real_;
};

}  // namespace perennial::support
