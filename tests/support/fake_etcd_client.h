#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <variant>

#include "tests/support/fake_etcd.h"

namespace perennial::support {

// One node's client of a FakeEtcd.
class FakeEtcd::NodeClient final : public etcd::Client {
 public:
  NodeClient(FakeEtcd& etcd, VirtualTime::Node& node, ClientId id);
  ~NodeClient() override;

  void get(etcd::Get request, Nanos deadline, etcd::Done<etcd::Found> done) override;
  void commit(etcd::Transaction transaction, Nanos deadline,
              etcd::Done<etcd::TransactionDone> done) override;
  void compact(etcd::Revision revision, Nanos deadline, etcd::Done<etcd::Compacted> done) override;
  void grant(int64_t ttl_s, Nanos deadline, etcd::Done<etcd::LeaseGranted> done) override;
  void keep_alive(etcd::LeaseId lease, Nanos deadline, etcd::Done<etcd::LeaseKept> done) override;
  void revoke(etcd::LeaseId lease, Nanos deadline, etcd::Done<etcd::LeaseRevoked> done) override;
  void time_to_live(etcd::LeaseId lease, Nanos deadline, etcd::Done<etcd::LeaseLeft> done) override;
  etcd::WatchId watch(etcd::KeyRange range, etcd::Revision from,
                      std::function<void(etcd::WatchReport)> report) override;
  void cancel_watch(etcd::WatchId watch) override;
  void member_status(size_t member, Nanos deadline, etcd::Done<etcd::MemberStatus> done) override;
  void disarm(etcd::Alarm alarm, Nanos deadline, etcd::Done<etcd::AlarmDisarmed> done) override;
  size_t members() const override { return etcd_.options_.members; }
  void prefer(size_t member) override { member_ = member; }
  bool has_watch(etcd::WatchId watch) const { return watches_.contains(watch); }

  VirtualTime::Node& node() { return node_; }
  // On the node. Do nothing if the call is done, or the watch has ended.
  void complete(uint64_t call, Answer answer);
  void report(etcd::WatchId watch, const etcd::WatchReport& report);

 private:
  struct Pending {
    etcd::TimerId timer = 0;
    std::function<void(Answer)> done;
  };

  template <typename T>
  void call(CallKind kind, Nanos deadline, Act act, etcd::Done<T> done) {
    start(kind, deadline, std::move(act), [done = std::move(done)](Answer answer) {
      if (auto* failure = std::get_if<etcd::Failure>(&answer)) {
        done(std::move(*failure));
      } else {
        done(std::get<T>(std::move(answer)));
      }
    });
  }
  void start(CallKind kind, Nanos deadline, Act act, std::function<void(Answer)> done);

  FakeEtcd& etcd_;
  VirtualTime::Node& node_;
  ClientId id_;
  size_t member_ = 0;  // Whom the next call asks.
  uint64_t last_call_ = 0;
  etcd::WatchId last_watch_ = 0;
  std::map<uint64_t, Pending> pending_;
  std::map<etcd::WatchId, std::function<void(etcd::WatchReport)>> watches_;
};

}  // namespace perennial::support
