// What is drawn from the seed, and what is set by hand.

#include <iterator>

#include "tests/support/fake_etcd.h"
#include "tests/support/fake_etcd_client.h"

namespace perennial::support {
namespace {

// Within this time a client ends a watch without a report.
constexpr Nanos cut_off_watch_max = 15 * nanos_per_second;

}  // namespace

EtcdFaults EtcdFaults::all() {
  EtcdFaults faults;
  faults.request_delay_max = 20 * nanos_per_ms;
  faults.answer_delay_max = 20 * nanos_per_ms;
  faults.lost_requests_per_mille = 20;
  faults.lost_answers_per_mille = 20;
  faults.broken_per_mille = 20;
  faults.late_per_mille = 20;
  faults.short_leases_per_mille = 20;
  faults.late_reports_per_mille = 50;
  faults.report_revisions_max = 3;
  faults.majority_lost_every = 60 * nanos_per_second;
  faults.election_every = 40 * nanos_per_second;
  faults.cut_off_every = 30 * nanos_per_second;
  faults.lease_ended_every = 40 * nanos_per_second;
  faults.watches_ended_every = 20 * nanos_per_second;
  faults.compaction_every = 10 * nanos_per_second;
  faults.full_every = 60 * nanos_per_second;
  return faults;
}

Nanos FakeEtcd::draw(Nanos max) {
  return max <= 0 ? 0 : static_cast<Nanos>(random_() % (static_cast<uint64_t>(max) + 1));
}

bool FakeEtcd::is_drawn(uint32_t per_mille) {
  return per_mille > 0 && random_() % 1000 < per_mille;
}

CallFate FakeEtcd::draw_fate(const VirtualTime::Node& node, CallKind kind, Nanos time_left) {
  const auto planned = plans_.find({node.number(), kind});
  if (planned != plans_.end() && !planned->second.empty()) {
    const CallFate fate = planned->second.front();
    planned->second.pop_front();
    return fate;
  }
  CallFate fate;
  fate.request_delay = draw(faults_.request_delay_max);
  fate.answer_delay = draw(faults_.answer_delay_max);
  fate.is_request_lost = is_drawn(faults_.lost_requests_per_mille);
  fate.is_answer_lost = is_drawn(faults_.lost_answers_per_mille);
  bool is_late = is_drawn(faults_.late_per_mille);
  if (is_drawn(faults_.broken_per_mille)) {
    fate.error_after = draw(time_left);
    is_late = is_late || is_drawn(500);
  }
  if (is_late) fate.request_delay += draw(faults_.late_max);
  return fate;
}

void FakeEtcd::plan(const VirtualTime::Node& node, CallKind kind, CallFate fate) {
  plans_[{node.number(), kind}].push_back(fate);
}

void FakeEtcd::cut_off(const VirtualTime::Node& node, bool is_cut_off) {
  if (!is_cut_off) {
    cut_off_.erase(node.number());
    return;
  }
  cut_off_.insert(node.number());
  end_watches_of(node, cut_off_watch_max, "no sign of life");
}

void FakeEtcd::end_watches(const VirtualTime::Node& node) {
  end_watches_of(node, 0, "the connection broke");
}

void FakeEtcd::delay_watches(const VirtualTime::Node& node, Nanos time) {
  watches_delayed_[node.number()] = machine_.now() + time;
}

void FakeEtcd::set_faults(const EtcdFaults& faults) {
  faults_ = faults;
  ++faults_set_;
  repeat(faults.majority_lost_every, [this] { draw_lost_majority(); });
  repeat(faults.election_every, [this] {
    if (has_majority_) elect();
  });
  repeat(faults.cut_off_every, [this] { draw_cut_off(); });
  repeat(faults.lease_ended_every, [this] {
    if (has_majority_ && !clocks_.empty()) end_lease(drawn_from(clocks_)->first);
  });
  repeat(faults.watches_ended_every, [this] {
    if (!clients_.empty()) end_watches(drawn_from(clients_)->second->node());
  });
  repeat(faults.compaction_every, [this] {
    if (has_majority_) compact(model_.compacted() + draw(model_.revision() - model_.compacted()));
  });
  repeat(faults.full_every, [this] { draw_full(); });
  repeat(faults.restore_every, [this] { draw_restore(); });
  repeat(faults.replace_every, [this] { replace(); });
}

void FakeEtcd::repeat(Nanos every, const std::function<void()>& fault) {
  if (every <= 0) return;
  machine_.after(draw(2 * every), [this, every, fault, set = faults_set_] {
    if (set != faults_set_) return;
    fault();
    repeat(every, fault);
  });
}

template <typename Map>
typename Map::iterator FakeEtcd::drawn_from(Map& map) {
  return std::next(map.begin(), draw(static_cast<Nanos>(map.size()) - 1));
}

void FakeEtcd::draw_lost_majority() {
  if (!has_majority_) return;
  lose_majority();
  machine_.after(draw(faults_.majority_lost_max), [this] { regain_majority(); });
}

void FakeEtcd::draw_cut_off() {
  if (clients_.empty()) return;
  const VirtualTime::Node& node = drawn_from(clients_)->second->node();
  cut_off(node);
  machine_.after(draw(faults_.cut_off_max), [this, &node] { cut_off(node, false); });
}

void FakeEtcd::draw_full() {
  set_full(true);
  machine_.after(draw(faults_.full_max), [this] { set_full(false); });
}

void FakeEtcd::draw_restore() {
  const auto go_back = [this, snapshot = model_, set = faults_set_] {
    if (set == faults_set_) restore(snapshot);
  };
  machine_.after(draw(faults_.restore_back_max), go_back);
}

void FakeEtcd::heal() {
  set_faults({});
  cut_off_.clear();
  watches_delayed_.clear();
  set_full(false);
  regain_majority();
}

}  // namespace perennial::support
