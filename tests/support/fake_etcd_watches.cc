// Reports of watches, from etcd's side.

#include <algorithm>
#include <iterator>

#include "tests/support/fake_etcd.h"
#include "tests/support/fake_etcd_client.h"

namespace perennial::support {
namespace {

// A client ends a watch without a report for this long.
constexpr Nanos silence_max = 15 * nanos_per_second;
// etcd reports progress at least this often, as the client asks for.
constexpr Nanos sign_of_life_every = 5 * nanos_per_second;

}  // namespace

void FakeEtcd::send_watch(WatchKey key, etcd::KeyRange range, etcd::Revision from) {
  const CallFate fate = draw_fate(find(key.first)->node(), CallKind::Watch, silence_max);
  if (fate.error_after) {
    end_watch(key, {0, "the connection broke"}, *fate.error_after);
  } else if (fate.is_request_lost || fate.is_answer_lost || is_cut_off(key.first)) {
    end_watch(key, {0, "no sign of life"}, silence_max);
  } else {
    machine_.after(fate.request_delay,
                   [this, key, range = std::move(range), from] { open_watch(key, range, from); });
  }
}

void FakeEtcd::open_watch(WatchKey key, etcd::KeyRange range, etcd::Revision from) {
  const NodeClient* client = find(key.first);
  if (client == nullptr || !client->has_watch(key.second)) return;  // Cancelled on the way.
  if (is_cut_off(key.first)) return end_watch(key, {0, "no sign of life"}, silence_max);
  if (!has_majority_) return end_watch(key, {0, "etcdserver: no leader"}, 0);
  const bool is_empty = range.key.empty() || (!range.end.empty() && range.end <= range.key);
  if (is_empty) return end_watch(key, {0, "mvcc: watcher range is empty"}, 0);
  const etcd::Revision next = from == 0 ? model_.revision() + 1 : from;
  watches_[key] = {.range = std::move(range), .next = next, .reported = next - 1};
  if (next <= model_.revision()) schedule_report(key);
  report_signs_of_life(key);
}

void FakeEtcd::end_watch(WatchKey key, etcd::WatchEnded ended, Nanos delay) {
  watches_.erase(key);
  machine_.after(delay, [this, key, ended = std::move(ended)] {
    NodeClient* client = find(key.first);
    if (client == nullptr) return;
    client->node().post([this, key, ended] {
      if (NodeClient* alive = find(key.first)) alive->report(key.second, ended);
    });
  });
}

void FakeEtcd::end_all_watches(Nanos delay_max, const std::string& message) {
  while (!watches_.empty()) end_watch(watches_.begin()->first, {0, message}, draw(delay_max));
}

void FakeEtcd::end_watches_of(const VirtualTime::Node& node, Nanos delay_max,
                              const std::string& message) {
  std::vector<WatchKey> keys;
  for (const auto& [key, watch] : watches_) {
    if (find(key.first)->node().number() == node.number()) keys.push_back(key);
  }
  for (const WatchKey& key : keys) end_watch(key, {0, message}, draw(delay_max));
}

void FakeEtcd::notify_watches() {
  for (const auto& [key, watch] : watches_) {
    if (watch.next <= model_.revision()) schedule_report(key);
  }
}

void FakeEtcd::schedule_report(WatchKey key) {
  Watch& watch = watches_.at(key);
  if (watch.is_scheduled) return;
  watch.is_scheduled = true;
  Nanos delay = draw(faults_.answer_delay_max);
  if (is_drawn(faults_.late_reports_per_mille)) delay += draw(faults_.report_late_max);
  const auto delayed = watches_delayed_.find(find(key.first)->node().number());
  if (delayed != watches_delayed_.end()) {
    delay = std::max(delay, delayed->second - machine_.now());
  }
  machine_.after(delay, [this, key] {
    const auto found = watches_.find(key);
    if (found == watches_.end()) return;
    found->second.is_scheduled = false;
    report(key, false);
  });
}

void FakeEtcd::report_signs_of_life(WatchKey key) {
  machine_.after(sign_of_life_every + draw(sign_of_life_every), [this, key] {
    const auto found = watches_.find(key);
    if (found == watches_.end()) return;
    if (!found->second.is_scheduled) report(key, true);
    report_signs_of_life(key);
  });
}

void FakeEtcd::report(WatchKey key, bool is_sign_of_life) {
  Watch& watch = watches_.at(key);
  if (watch.next < model_.compacted()) {
    return end_watch(key, {model_.compacted(), "the history is compacted"}, 0);
  }
  const auto revisions_max = faults_.report_revisions_max == 0
                                 ? model_.revision()
                                 : 1 + draw(faults_.report_revisions_max - 1);
  etcd::WatchEvents report;
  for (int64_t revisions = 0; watch.next <= model_.revision(); ++watch.next) {
    std::vector<etcd::WatchEvent> events = model_.events(watch.range, watch.next);
    if (events.empty()) continue;
    if (revisions++ == revisions_max) break;
    watch.reported = watch.next;
    report.events.insert(report.events.end(), std::make_move_iterator(events.begin()),
                         std::make_move_iterator(events.end()));
  }
  report.revision = watch.reported;
  if (watch.next <= model_.revision()) schedule_report(key);
  if (report.events.empty() && !is_sign_of_life) return;
  find(key.first)->node().post([this, key, report = std::move(report)] {
    if (NodeClient* alive = find(key.first)) alive->report(key.second, report);
  });
}

}  // namespace perennial::support
