#include "tests/support/fake_etcd.h"

#include <algorithm>
#include <limits>

#include "engine/types/check.h"
#include "tests/support/fake_etcd_client.h"

namespace perennial::support {
namespace {

// etcd 3.4: how long an election takes at most.
constexpr Nanos election_max = 1400 * nanos_per_ms;

constexpr uint64_t id_of(size_t member) {
  return 1000 + member;
}
// The first member is the one that notices.
constexpr etcd::Alarm full_alarm = {.member = id_of(0), .kind = etcd::Alarm::Kind::NoSpace};

}  // namespace

FakeEtcd::FakeEtcd(VirtualTime& time, Options options)
    : machine_(time.add_node()), options_(options), random_(options.seed), model_(options.limits) {
  CHECK(options_.members > 0);
  set_faults(options_.faults);
}

FakeEtcd::~FakeEtcd() {
  CHECK(clients_.empty());
  machine_.kill();
}

std::unique_ptr<etcd::Client> FakeEtcd::connect(VirtualTime::Node& node) {
  return std::make_unique<NodeClient>(*this, node, ++last_client_);
}

FakeEtcd::NodeClient* FakeEtcd::find(ClientId client) {
  const auto found = clients_.find(client);
  return found == clients_.end() ? nullptr : found->second;
}

bool FakeEtcd::is_cut_off(ClientId client) {
  NodeClient* found = find(client);
  return found == nullptr || cut_off_.contains(found->node().number());
}

void FakeEtcd::send(Call call, Nanos time_left) {
  call.incarnation = incarnation_;
  call.fate = draw_fate(find(call.client)->node(), call.kind, time_left);
  if (call.fate.error_after) {
    machine_.after(*call.fate.error_after, [this, client = call.client, number = call.number] {
      answer(client, number, etcd::Failure{etcd::CallError::Unknown, "the connection broke"});
    });
  }
  if (call.fate.is_request_lost || is_cut_off(call.client)) return;
  machine_.after(call.fate.request_delay, [this, call] { arrive(call); });
}

// A call happens here, at once and whole.
void FakeEtcd::arrive(const Call& call) {
  if (call.incarnation != incarnation_) return;
  if (!has_majority_ && call.kind != CallKind::Status) {
    const bool is_kept = held_ == Held::Kept || (held_ == Held::Drawn && is_drawn(500));
    if (is_kept) held_calls_.push_back(call);
    return;
  }
  Answer result = call.act(*this);
  notify_watches();
  if (call.fate.is_answer_lost) return;
  machine_.after(call.fate.answer_delay,
                 [this, client = call.client, number = call.number, result = std::move(result)] {
                   if (!is_cut_off(client)) answer(client, number, result);
                 });
}

void FakeEtcd::answer(ClientId client, uint64_t number, Answer answer) {
  NodeClient* found = find(client);
  if (found == nullptr) return;
  found->node().post([this, client, number, answer = std::move(answer)] {
    if (NodeClient* alive = find(client)) alive->complete(number, answer);
  });
}

FakeEtcd::Answer FakeEtcd::grant(int64_t ttl_s) {
  const auto lease =
      static_cast<etcd::LeaseId>(random_() % std::numeric_limits<etcd::LeaseId>::max() + 1);
  const auto outcome = model_.grant(lease, ttl_s);
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) return *failure;
  const auto& granted = std::get<etcd::LeaseGranted>(outcome);
  start_clock(lease, granted.ttl_s);
  return granted;
}

FakeEtcd::Answer FakeEtcd::keep_alive(etcd::LeaseId lease) {
  const auto outcome = model_.keep_alive(lease);
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) return *failure;
  const auto& kept = std::get<etcd::LeaseKept>(outcome);
  start_clock(lease, kept.ttl_s);
  return kept;
}

FakeEtcd::Answer FakeEtcd::revoke(etcd::LeaseId lease) {
  const auto outcome = model_.revoke(lease);
  if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) return *failure;
  const auto clock = clocks_.find(lease);
  if (clock != clocks_.end()) {
    machine_.cancel_timer(clock->second.timer);
    clocks_.erase(clock);
  }
  return etcd::LeaseRevoked{};
}

FakeEtcd::Answer FakeEtcd::time_to_live(etcd::LeaseId lease) const {
  const auto clock = clocks_.find(lease);
  if (clock == clocks_.end()) return etcd::LeaseLeft{};
  const Nanos left = std::max<Nanos>(clock->second.expires_at - machine_.now(), 0);
  return etcd::LeaseLeft{.ttl_s = left / nanos_per_second};
}

FakeEtcd::Answer FakeEtcd::status(size_t member) const {
  etcd::MemberStatus status;
  status.endpoint = "member " + std::to_string(member);
  status.version = "3.4.23";
  status.database_bytes = model_.database_bytes();
  status.has_leader = has_majority_;
  status.is_leader = has_majority_ && member == leader_;
  status.term = term_;
  status.id = id_of(member);
  if (model_.has_alarm()) status.alarms = {full_alarm};
  return status;
}

FakeEtcd::Answer FakeEtcd::disarm(const etcd::Alarm& alarm) {
  if (alarm == full_alarm) model_.disarm();
  return etcd::AlarmDisarmed{};
}

void FakeEtcd::start_clock(etcd::LeaseId lease, int64_t ttl_s) {
  const Nanos time = ttl_s * nanos_per_second;
  if (is_drawn(faults_.short_leases_per_mille)) {
    set_clock(lease, machine_.now() + draw(time));
  } else {
    set_clock(lease, machine_.now() + time + draw(faults_.lease_late_max));
  }
}

void FakeEtcd::set_clock(etcd::LeaseId lease, Nanos expires_at) {
  LeaseClock& clock = clocks_[lease];
  machine_.cancel_timer(clock.timer);
  clock.expires_at = expires_at;
  clock.timer = machine_.after(expires_at - machine_.now(), [this, lease] { end_lease(lease); });
}

void FakeEtcd::end_lease(etcd::LeaseId lease) {
  if (!has_majority_) return;  // What is due expires after the election.
  revoke(lease);
  notify_watches();
}

void FakeEtcd::lose_majority(Held held) {
  has_majority_ = false;
  held_ = held;
  end_all_watches(3 * nanos_per_second, "etcdserver: no leader");
}

void FakeEtcd::regain_majority() {
  if (has_majority_) return;
  has_majority_ = true;
  elect();
  for (Call& call : std::exchange(held_calls_, {})) {
    machine_.after(draw(nanos_per_second), [this, call = std::move(call)] { arrive(call); });
  }
}

void FakeEtcd::elect() {
  leader_ = (leader_ + 1) % options_.members;
  ++term_;
  for (const auto& [lease, clock] : clocks_) {
    const Nanos time = model_.leases().at(lease).ttl_s * nanos_per_second;
    const Nanos earliest = std::max(clock.expires_at, machine_.now());
    const Nanos latest = machine_.now() + time + election_max;
    set_clock(lease, latest > earliest ? earliest + draw(latest - earliest) : earliest);
  }
}

void FakeEtcd::compact(etcd::Revision revision) {
  model_.compact(revision);
}

void FakeEtcd::set_full(bool is_full) {
  if (is_full) return model_.fill();
  model_.defragment();
  model_.disarm();
}

void FakeEtcd::defragment() {
  model_.defragment();
}

void FakeEtcd::restore(EtcdModel snapshot) {
  ++incarnation_;
  held_calls_.clear();
  for (const auto& [lease, clock] : clocks_) machine_.cancel_timer(clock.timer);
  clocks_.clear();
  model_ = std::move(snapshot);
  for (const auto& [lease, content] : model_.leases()) {
    set_clock(lease, machine_.now() + content.ttl_s * nanos_per_second);
  }
  end_all_watches(3 * nanos_per_second, "etcdserver: server stopped");
}

void FakeEtcd::replace() {
  restore(EtcdModel(options_.limits));
}

}  // namespace perennial::support
