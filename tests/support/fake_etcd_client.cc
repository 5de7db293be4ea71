#include "tests/support/fake_etcd_client.h"

#include <string>

#include "engine/types/check.h"

namespace perennial::support {
namespace {

// The answer of a call that has this outcome.
template <typename Answer>
struct AsAnswer {
  template <typename T>
  Answer operator()(T outcome) const {
    return Answer(std::move(outcome));
  }
};

template <typename Answer, typename T>
Answer as_answer(etcd::Outcome<T> outcome) {
  return std::visit(AsAnswer<Answer>{}, std::move(outcome));
}

}  // namespace

FakeEtcd::NodeClient::NodeClient(FakeEtcd& etcd, VirtualTime::Node& node, ClientId id)
    : etcd_(etcd), node_(node), id_(id), member_(id % etcd.options_.members) {
  etcd_.clients_[id_] = this;
}

FakeEtcd::NodeClient::~NodeClient() {
  for (const auto& [call, pending] : pending_) node_.cancel_timer(pending.timer);
  std::erase_if(etcd_.watches_, [this](const auto& watch) { return watch.first.first == id_; });
  etcd_.clients_.erase(id_);
}

void FakeEtcd::NodeClient::get(etcd::Get request, Nanos deadline, etcd::Done<etcd::Found> done) {
  const auto act = [request = std::move(request)](FakeEtcd& etcd) {
    return as_answer<Answer>(etcd.model_.get(request));
  };
  call(CallKind::Get, deadline, act, std::move(done));
}

void FakeEtcd::NodeClient::commit(etcd::Transaction transaction, Nanos deadline,
                                  etcd::Done<etcd::TransactionDone> done) {
  const auto act = [transaction = std::move(transaction)](FakeEtcd& etcd) {
    return as_answer<Answer>(etcd.model_.commit(transaction));
  };
  call(CallKind::Commit, deadline, act, std::move(done));
}

void FakeEtcd::NodeClient::compact(etcd::Revision revision, Nanos deadline,
                                   etcd::Done<etcd::Compacted> done) {
  const auto act = [revision](FakeEtcd& etcd) {
    return as_answer<Answer>(etcd.model_.compact(revision));
  };
  call(CallKind::Compact, deadline, act, std::move(done));
}

void FakeEtcd::NodeClient::grant(int64_t ttl_s, Nanos deadline,
                                 etcd::Done<etcd::LeaseGranted> done) {
  CHECK(ttl_s >= 1);
  const auto act = [ttl_s](FakeEtcd& etcd) { return etcd.grant(ttl_s); };
  call(CallKind::Grant, deadline, act, std::move(done));
}

void FakeEtcd::NodeClient::keep_alive(etcd::LeaseId lease, Nanos deadline,
                                      etcd::Done<etcd::LeaseKept> done) {
  const auto act = [lease](FakeEtcd& etcd) { return etcd.keep_alive(lease); };
  call(CallKind::KeepAlive, deadline, act, std::move(done));
}

void FakeEtcd::NodeClient::revoke(etcd::LeaseId lease, Nanos deadline,
                                  etcd::Done<etcd::LeaseRevoked> done) {
  const auto act = [lease](FakeEtcd& etcd) { return etcd.revoke(lease); };
  call(CallKind::Revoke, deadline, act, std::move(done));
}

void FakeEtcd::NodeClient::time_to_live(etcd::LeaseId lease, Nanos deadline,
                                        etcd::Done<etcd::LeaseLeft> done) {
  const auto act = [lease](FakeEtcd& etcd) { return etcd.time_to_live(lease); };
  call(CallKind::TimeToLive, deadline, act, std::move(done));
}

void FakeEtcd::NodeClient::member_status(size_t member, Nanos deadline,
                                         etcd::Done<etcd::MemberStatus> done) {
  CHECK(member < members());
  const auto act = [member](FakeEtcd& etcd) { return etcd.status(member); };
  call(CallKind::Status, deadline, act, std::move(done));
}

void FakeEtcd::NodeClient::disarm(etcd::Alarm alarm, Nanos deadline,
                                  etcd::Done<etcd::AlarmDisarmed> done) {
  const auto act = [alarm](FakeEtcd& etcd) { return etcd.disarm(alarm); };
  call(CallKind::Disarm, deadline, act, std::move(done));
}

etcd::WatchId FakeEtcd::NodeClient::watch(etcd::KeyRange range, etcd::Revision from,
                                          std::function<void(etcd::WatchReport)> report) {
  const etcd::WatchId watch = ++last_watch_;
  watches_[watch] = std::move(report);
  etcd_.send_watch({id_, watch}, std::move(range), from);
  return watch;
}

void FakeEtcd::NodeClient::cancel_watch(etcd::WatchId watch) {
  watches_.erase(watch);
  etcd_.watches_.erase({id_, watch});
}

void FakeEtcd::NodeClient::complete(uint64_t call, Answer answer) {
  const auto found = pending_.find(call);
  if (found == pending_.end()) return;
  const Pending pending = std::move(found->second);
  pending_.erase(found);
  node_.cancel_timer(pending.timer);
  if (auto* failure = std::get_if<etcd::Failure>(&answer)) {
    failure->message = "member " + std::to_string(member_) + ": " + failure->message;
    if (failure->error == etcd::CallError::Unknown) member_ = (member_ + 1) % members();
  }
  pending.done(std::move(answer));
}

void FakeEtcd::NodeClient::report(etcd::WatchId watch, const etcd::WatchReport& report) {
  const auto found = watches_.find(watch);
  if (found == watches_.end()) return;
  const auto function = found->second;  // It may cancel its own watch.
  if (std::holds_alternative<etcd::WatchEnded>(report)) watches_.erase(found);
  function(report);
}

void FakeEtcd::NodeClient::start(CallKind kind, Nanos deadline, Act act,
                                 std::function<void(Answer)> done) {
  CHECK(deadline > VirtualTime::start / 2);  // A point in time, not a duration.
  const uint64_t number = ++last_call_;
  const Nanos time_left = deadline > node_.now() ? deadline - node_.now() : 0;
  const etcd::TimerId timer = node_.after(time_left, [this, number] {
    complete(number, etcd::Failure{etcd::CallError::Unknown, "no answer by the deadline"});
  });
  pending_[number] = {timer, std::move(done)};
  etcd_.send({.client = id_, .number = number, .kind = kind, .act = std::move(act)}, time_left);
}

}  // namespace perennial::support
