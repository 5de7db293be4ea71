// Random clients on an etcd with all faults. Each appends values of its own to one log, by
// comparing that the next index is free, and follows the log by a watch. What they were told is
// compared with the log at the end.

#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/fake_etcd.h"
#include "tests/support/seed.h"

namespace perennial::support {
namespace {

using etcd::CallError;

constexpr Nanos ms = nanos_per_ms;
constexpr Nanos second = nanos_per_second;
const etcd::KeyRange log_range = {"log/", "log0"};

std::string log_key(int64_t index) {
  const std::string digits = std::to_string(index);
  return "log/" + std::string(8 - digits.size(), '0') + digits;
}
int64_t index_of(const std::string& key) {
  return std::stoll(key.substr(4));
}

// What happened in all runs, so that none of it is left untested.
struct Counts {
  int committed = 0;
  int refused = 0;
  int unknown = 0;
  int unknown_and_happened = 0;
  int no_space = 0;
  int watches_ended = 0;
  int watches_compacted = 0;
  int leases_lost = 0;
};

// One append, from its call to its answer.
struct Append {
  std::string value;
  Nanos called_at = 0;
  Nanos answered_at = 0;
  enum class Is : uint8_t { UnderWay, Committed, Refused, Unknown } is = Is::UnderWay;
  etcd::Revision revision = 0;  // If it is committed.
};

// Everything that the clients of a run have seen.
struct History {
  std::vector<Append> appends = {};
  std::vector<std::string> problems = {};
  std::string trace = {};
  Counts counts = {};
  // The highest revision in an answer: reads that are called later are not older.
  etcd::Revision newest = 0;
};

// A process that appends, reads, watches and keeps a lease, all at random times.
class Appender {
 public:
  Appender(FakeEtcd& etcd, VirtualTime::Node& node, std::string name, uint64_t seed,
           History& history)
      : node_(node),
        client_(etcd.connect(node)),
        name_(std::move(name)),
        random_(seed),
        history_(history) {
    node_.post([this] {
      append_soon();
      follow();
      renew();
    });
  }

  const std::map<int64_t, std::string>& followed() const { return followed_; }
  void stop() { is_stopped_ = true; }

 private:
  Nanos deadline() const { return node_.now() + second; }
  Nanos soon() { return static_cast<Nanos>(random_() % (100 * ms)); }

  void append_soon() {
    node_.after(soon(), [this] {
      if (!is_stopped_) read_and_append();
    });
  }

  void read_and_append() {
    const etcd::Revision newest = history_.newest;
    const etcd::Get first = {.range = log_range, .limit = 1};
    client_->get(first, deadline(), [this, newest](const auto& outcome) {
      const auto* found = std::get_if<etcd::Found>(&outcome);
      if (found == nullptr) return append_soon();
      saw(found->revision);
      if (found->revision < newest) problem("a read is older than an answer before it");
      append(found->keys.empty() ? 1 : index_of(found->keys[0].key) + found->count);
    });
  }

  void append(int64_t index) {
    const size_t number = history_.appends.size();
    history_.appends.push_back(
        {.value = name_ + std::to_string(number), .called_at = node_.now(), .answered_at = 0});
    etcd::Transaction transaction;
    transaction.conditions = {{.key = log_key(index)}};
    if (index > 1) {
      transaction.conditions.push_back(
          {.key = log_key(index - 1), .is = etcd::Compare::Is::NotEqual});
    }
    transaction.then = {etcd::Put{log_key(index), history_.appends[number].value}};
    // Rewritten by all, so that there is something to compact.
    transaction.then.push_back(etcd::Put{"last", std::to_string(index)});
    client_->commit(transaction, deadline(), [this, number](const auto& outcome) {
      answered(history_.appends[number], outcome);
      append_soon();
    });
  }

  void answered(Append& append, const etcd::Outcome<etcd::TransactionDone>& outcome) {
    if (append.is != Append::Is::UnderWay) problem(append.value + " is answered twice");
    append.answered_at = node_.now();
    if (const auto* done = std::get_if<etcd::TransactionDone>(&outcome)) {
      append.is = done->held ? Append::Is::Committed : Append::Is::Refused;
      append.revision = done->revision;
      saw(done->revision);
      ++(done->held ? history_.counts.committed : history_.counts.refused);
    } else {
      const CallError error = std::get<etcd::Failure>(outcome).error;
      append.is = error == CallError::Unknown ? Append::Is::Unknown : Append::Is::Refused;
      history_.counts.unknown += error == CallError::Unknown ? 1 : 0;
      history_.counts.no_space += error == CallError::NoSpace ? 1 : 0;
      if (error != CallError::Unknown && error != CallError::NoSpace) problem("an odd error");
    }
    history_.trace += append.value + "=" + std::to_string(static_cast<int>(append.is)) + "@" +
                      std::to_string(node_.now()) + " ";
  }

  // Reads all of the log, and watches from there on.
  void follow() {
    client_->get({.range = log_range}, deadline(), [this](const auto& outcome) {
      const auto* found = std::get_if<etcd::Found>(&outcome);
      if (found == nullptr) {
        node_.after(soon(), [this] { follow(); });
        return;
      }
      for (const etcd::KeyValue& entry : found->keys) take(entry);
      reported_ = found->revision;
      client_->watch(log_range, reported_ + 1,
                     [this](const etcd::WatchReport& report) { watched(report); });
    });
  }

  void watched(const etcd::WatchReport& report) {
    if (const auto* ended = std::get_if<etcd::WatchEnded>(&report)) {
      ++history_.counts.watches_ended;
      history_.counts.watches_compacted += ended->compact_revision != 0 ? 1 : 0;
      history_.trace += name_ + "ended@" + std::to_string(node_.now()) + " ";
      node_.after(soon(), [this] { follow(); });
      return;
    }
    const auto& events = std::get<etcd::WatchEvents>(report);
    if (events.revision < reported_) problem("a report is older than the one before");
    for (const etcd::WatchEvent& event : events.events) {
      if (event.key.mod_revision <= reported_) problem("an event comes twice");
      if (event.key.mod_revision > events.revision) problem("an event comes before its revision");
      if (event.is_delete) problem("nobody has deleted an entry");
      if (index_of(event.key.key) != static_cast<int64_t>(followed_.size()) + 1) {
        problem("an event is left out");
      }
      take(event.key);
    }
    reported_ = events.revision;
  }

  void take(const etcd::KeyValue& entry) {
    const auto [known, is_new] = followed_.emplace(index_of(entry.key), entry.value);
    if (known->second != entry.value) problem("an entry has changed");
    if (entry.version != 1) problem("an entry was written twice");
  }

  // Holds a key by a lease, and grants another one when it is gone.
  void renew() {
    const auto next = [this] { node_.after(second, [this] { renew(); }); };
    if (!lease_) {
      client_->grant(5, deadline(), [this, next](const auto& outcome) {
        if (const auto* granted = std::get_if<etcd::LeaseGranted>(&outcome)) {
          lease_ = granted->lease;
          const etcd::Transaction hold = {{}, {etcd::Put{"held/" + name_, "", *lease_}}, {}};
          client_->commit(hold, deadline(), [](const auto&) {});
        }
        next();
      });
      return;
    }
    client_->keep_alive(*lease_, deadline(), [this, next](const auto& outcome) {
      const auto* failure = std::get_if<etcd::Failure>(&outcome);
      if (failure != nullptr && failure->error == CallError::LeaseNotFound) {
        ++history_.counts.leases_lost;
        lease_.reset();
      }
      next();
    });
  }

  void saw(etcd::Revision revision) { history_.newest = std::max(history_.newest, revision); }
  void problem(const std::string& what) {
    history_.problems.push_back(name_ + " at " + std::to_string(node_.now()) + ": " + what);
  }

  VirtualTime::Node& node_;
  std::unique_ptr<etcd::Client> client_;
  std::string name_;
  std::mt19937_64 random_;
  History& history_;
  bool is_stopped_ = false;
  std::map<int64_t, std::string> followed_;
  etcd::Revision reported_ = 0;
  std::optional<etcd::LeaseId> lease_;
};

// Compares what the clients were told with the log.
void judge(const std::map<int64_t, etcd::KeyValue>& log, History& history) {
  std::map<std::string, etcd::KeyValue> entries;
  int64_t expected = 0;
  for (const auto& [index, entry] : log) {
    if (index != ++expected) history.problems.push_back("a gap before " + entry.key);
    if (!entries.emplace(entry.value, entry).second) {
      history.problems.push_back(entry.value + " is there twice");
    }
  }
  for (const Append& append : history.appends) {
    const auto entry = entries.find(append.value);
    const bool is_there = entry != entries.end();
    if (append.is == Append::Is::Committed && !is_there) {
      history.problems.push_back(append.value + " was committed and is missing");
    } else if (append.is == Append::Is::Committed &&
               entry->second.mod_revision != append.revision) {
      history.problems.push_back(append.value + " is at another revision than was answered");
    } else if (append.is == Append::Is::Refused && is_there) {
      history.problems.push_back(append.value + " was refused and is there");
    }
    history.counts.unknown_and_happened += append.is == Append::Is::Unknown && is_there ? 1 : 0;
  }
  // What was answered before another was called comes before it, whatever became of that one. So
  // nothing is before the last entry that had been answered when it was called.
  std::vector<std::pair<Nanos, std::string>> answered;  // When, and the last key by then.
  for (const Append& append : history.appends) {
    if (append.is != Append::Is::Committed || !entries.contains(append.value)) continue;
    answered.emplace_back(append.answered_at, entries.at(append.value).key);
  }
  std::sort(answered.begin(), answered.end());
  for (size_t i = 1; i < answered.size(); ++i) {
    answered[i].second = std::max(answered[i].second, answered[i - 1].second);
  }
  for (const Append& append : history.appends) {
    const auto entry = entries.find(append.value);
    const auto later = std::lower_bound(answered.begin(), answered.end(),
                                        std::pair{append.called_at, std::string()});
    if (entry == entries.end() || later == answered.begin()) continue;
    if (entry->second.key < std::prev(later)->second) {
      history.problems.push_back(append.value + " is before " + std::prev(later)->second);
    }
  }
}

History run(uint64_t seed, const EtcdFaults& faults) {
  History history;
  VirtualTime time(seed);
  FakeEtcd etcd(time, {.seed = seed, .faults = faults});
  std::vector<VirtualTime::Node*> nodes;
  std::vector<std::unique_ptr<Appender>> appenders;
  for (const char* name : {"a", "b", "c"}) {
    nodes.push_back(&time.add_node());
    const uint64_t own_seed = seed + nodes.size();
    appenders.push_back(std::make_unique<Appender>(etcd, *nodes.back(), name, own_seed, history));
  }
  std::mt19937_64 random(seed);
  for (int i = 0; i < 30; ++i) {
    VirtualTime::Node& node = *nodes[random() % nodes.size()];
    if (random() % 4 == 0) node.pause();
    time.run_for(static_cast<Nanos>(random() % (3 * second)));
    if (node.is_paused()) node.resume();
    time.run_for(static_cast<Nanos>(random() % (3 * second)));
  }
  for (const auto& appender : appenders) appender->stop();
  etcd.heal();
  time.run_for(30 * second);

  std::map<int64_t, etcd::KeyValue> log;
  const auto outcome = etcd.model().get({.range = log_range});
  for (const etcd::KeyValue& entry : std::get<etcd::Found>(outcome).keys) {
    log[index_of(entry.key)] = entry;
  }
  judge(log, history);
  for (const auto& appender : appenders) {
    if (appender->followed().size() != log.size()) {
      history.problems.push_back("a watch has not followed to the end");
    }
  }
  return history;
}

TEST(FakeEtcdRandom, IsLinearizableUnderAllFaults) {
  Counts all;
  for (uint64_t i = 0; i < 25; ++i) {
    const uint64_t run_seed = seed() + i;
    const History history = run(run_seed, EtcdFaults::all());
    for (const std::string& problem : history.problems) {
      ADD_FAILURE() << "seed " << run_seed << ": " << problem;
    }
    all.committed += history.counts.committed;
    all.refused += history.counts.refused;
    all.unknown += history.counts.unknown;
    all.unknown_and_happened += history.counts.unknown_and_happened;
    all.no_space += history.counts.no_space;
    all.watches_ended += history.counts.watches_ended;
    all.watches_compacted += history.counts.watches_compacted;
    all.leases_lost += history.counts.leases_lost;
  }
  std::cout << "committed " << all.committed << ", refused " << all.refused << ", unknown "
            << all.unknown << " of which happened " << all.unknown_and_happened << ", no space "
            << all.no_space << ", watches ended " << all.watches_ended << " of which compacted "
            << all.watches_compacted << ", leases lost " << all.leases_lost << '\n';
  EXPECT_GT(all.committed, 0);
  EXPECT_GT(all.refused, 0);
  EXPECT_GT(all.unknown, all.unknown_and_happened);
  EXPECT_GT(all.unknown_and_happened, 0);
  EXPECT_GT(all.no_space, 0);
  EXPECT_GT(all.watches_ended, all.watches_compacted);
  EXPECT_GT(all.watches_compacted, 0);
  EXPECT_GT(all.leases_lost, 0);
}

TEST(FakeEtcdRandom, TheSameSeedGivesTheSameRun) {
  EtcdFaults faults = EtcdFaults::all();
  faults.restore_every = 20 * second;
  faults.replace_every = 60 * second;
  const std::string first = run(seed(), faults).trace;
  EXPECT_GT(first.size(), 1000U);
  EXPECT_EQ(first, run(seed(), faults).trace);
  EXPECT_NE(first, run(seed() + 1, faults).trace);
}

// The judge sees what a restore takes back, so it would see it if another fault did that.
TEST(FakeEtcdRandom, ARestoreIsNoticed) {
  EtcdFaults faults;
  faults.restore_every = 20 * second;
  int noticed = 0;
  for (uint64_t i = 0; i < 5; ++i) noticed += run(seed() + i, faults).problems.empty() ? 0 : 1;
  EXPECT_GT(noticed, 0);
}

}  // namespace
}  // namespace perennial::support
