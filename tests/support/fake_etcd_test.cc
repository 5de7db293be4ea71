#include "tests/support/fake_etcd.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace perennial::support {
namespace {

using etcd::CallError;

constexpr Nanos ms = nanos_per_ms;
constexpr Nanos second = nanos_per_second;
// The deadline of all calls is this far away.
constexpr Nanos patience = second;

// What a call has come to.
struct Result {
  int answers = 0;
  Nanos after = 0;  // From the call to the answer.
  std::optional<CallError> error = {};
  std::string message = {};
  etcd::LeaseId lease = 0;

  bool is_good() const { return answers == 1 && !error; }
  bool is(CallError wanted) const { return answers == 1 && error == wanted; }
};

struct Watched {
  std::string events = {};  // As in "a1 b2 -a", without the revisions.
  size_t signs_of_life = 0;
  std::optional<etcd::WatchEnded> ended = {};
  Nanos ended_at = 0;
};

class FakeEtcdTest : public testing::Test {
 protected:
  ~FakeEtcdTest() override {
    for (auto& client : clients_) client.reset();
  }

  void start(FakeEtcd::Options options = {}) {
    etcd_.emplace(time_, options);
    for (size_t i = 0; i < clients_.size(); ++i) {
      nodes_[i] = &time_.add_node();
      clients_[i] = etcd_->connect(*nodes_[i]);
    }
  }
  Nanos deadline() const { return time_.now() + patience; }

  // These start a call of a node; its result comes with time.
  template <typename T>
  etcd::Done<T> into(Result& result) {
    return [this, &result, called_at = time_.now()](const etcd::Outcome<T>& outcome) {
      ++result.answers;
      result.after = time_.now() - called_at;
      if (const auto* failure = std::get_if<etcd::Failure>(&outcome)) {
        result.error = failure->error;
        result.message = failure->message;
      } else if constexpr (std::is_same_v<T, etcd::LeaseGranted>) {
        result.lease = std::get<etcd::LeaseGranted>(outcome).lease;
      }
    };
  }
  Result& put(const std::string& key, const std::string& value, size_t node = 0,
              etcd::LeaseId lease = 0) {
    Result& result = new_result();
    clients_[node]->commit({{}, {etcd::Put{key, value, lease}}, {}}, deadline(),
                           into<etcd::TransactionDone>(result));
    return result;
  }
  Result& remove(const std::string& key) {
    Result& result = new_result();
    clients_[0]->commit({{}, {etcd::Delete{{key, ""}}}, {}}, deadline(),
                        into<etcd::TransactionDone>(result));
    return result;
  }
  Result& get(const std::string& key, size_t node = 0) {
    Result& result = new_result();
    clients_[node]->get({.range = {key, ""}}, deadline(), into<etcd::Found>(result));
    return result;
  }
  Result& grant(int64_t ttl_s) {
    Result& result = new_result();
    clients_[0]->grant(ttl_s, deadline(), into<etcd::LeaseGranted>(result));
    return result;
  }
  Result& keep_alive(etcd::LeaseId lease) {
    Result& result = new_result();
    clients_[0]->keep_alive(lease, deadline(), into<etcd::LeaseKept>(result));
    return result;
  }
  etcd::LeaseId granted(int64_t ttl_s) {
    Result& result = grant(ttl_s);
    time_.run_for(10 * ms);
    EXPECT_TRUE(result.is_good());
    return result.lease;
  }
  Watched& watch(etcd::Revision from, size_t node = 0) {
    watched_.push_back(std::make_unique<Watched>());
    Watched& watched = *watched_.back();
    clients_[node]->watch({"a", "z"}, from, [this, &watched](const etcd::WatchReport& report) {
      if (const auto* ended = std::get_if<etcd::WatchEnded>(&report)) {
        EXPECT_FALSE(watched.ended) << "ended twice";
        watched.ended = *ended;
        watched.ended_at = time_.now();
        return;
      }
      const auto& events = std::get<etcd::WatchEvents>(report).events;
      watched.signs_of_life += events.empty() ? 1 : 0;
      for (const etcd::WatchEvent& event : events) {
        watched.events += (watched.events.empty() ? "" : " ") +
                          (event.is_delete ? "-" + event.key.key : event.key.key + event.key.value);
      }
    });
    return watched;
  }
  // The value in etcd at this moment, or "none".
  std::string value(const std::string& key) const {
    const auto outcome = etcd_->model().get({.range = {key, ""}});
    const auto& keys = std::get<etcd::Found>(outcome).keys;
    return keys.empty() ? "none" : keys[0].value;
  }

  VirtualTime time_{1};
  std::optional<FakeEtcd> etcd_;
  std::array<VirtualTime::Node*, 2> nodes_ = {};
  std::array<std::unique_ptr<etcd::Client>, 2> clients_;

 private:
  Result& new_result() {
    results_.push_back(std::make_unique<Result>());
    return *results_.back();
  }

  std::vector<std::unique_ptr<Result>> results_;
  std::vector<std::unique_ptr<Watched>> watched_;
};

struct FateCase {
  std::string name;
  CallFate fate;
  bool is_unknown;
  Nanos answered_after;
  bool has_happened_by_then;
  bool happens;
};

TEST_F(FakeEtcdTest, ACallHasItsFate) {
  const std::vector<FateCase> cases = {
      {"good", {.request_delay = 20 * ms, .answer_delay = 10 * ms}, false, 30 * ms, true, true},
      {"lost request", {.is_request_lost = true}, true, patience, false, false},
      {"lost answer", {.is_answer_lost = true}, true, patience, true, true},
      {"late request", {.request_delay = 4 * second}, true, patience, false, true},
      {"late answer", {.answer_delay = 2 * second}, true, patience, true, true},
      {"broken before it happened",
       {.request_delay = 3 * second, .error_after = 100 * ms},
       true,
       100 * ms,
       false,
       true},
      {"broken after it happened",
       {.request_delay = ms, .answer_delay = second, .error_after = 100 * ms},
       true,
       100 * ms,
       true,
       true},
      {"broken and lost", {.is_request_lost = true, .error_after = 0}, true, 0, false, false},
      {"answered before it breaks", {.error_after = 500 * ms}, false, 0, true, true},
  };
  for (const FateCase& one : cases) {
    SCOPED_TRACE(one.name);
    etcd_.reset();
    start();
    etcd_->plan(*nodes_[0], CallKind::Commit, one.fate);
    Result& result = put("a", "1");
    EXPECT_TRUE(time_.run_until([&] { return result.answers > 0; }, 10 * second));
    EXPECT_EQ(result.is(CallError::Unknown), one.is_unknown);
    EXPECT_EQ(result.is_good(), !one.is_unknown);
    EXPECT_GE(result.after, one.answered_after);
    EXPECT_LE(result.after, one.answered_after + VirtualTime::turn_max);
    EXPECT_EQ(value("a") == "1", one.has_happened_by_then);
    time_.run_for(10 * second);
    EXPECT_EQ(value("a") == "1", one.happens);
    EXPECT_EQ(result.answers, 1);
    for (auto& client : clients_) client.reset();
  }
}

TEST_F(FakeEtcdTest, ALateCallHappensAfterLaterOnes) {
  start();
  etcd_->plan(*nodes_[0], CallKind::Commit, {.request_delay = 3 * second});
  const Result& late = put("a", "late");
  time_.run_for(2 * second);
  EXPECT_TRUE(late.is(CallError::Unknown));
  const Result& next = put("a", "next");
  time_.run_for(500 * ms);
  EXPECT_TRUE(next.is_good());
  EXPECT_EQ(value("a"), "next");
  time_.run_for(second);
  EXPECT_EQ(value("a"), "late");
}

TEST_F(FakeEtcdTest, CallsOfOneClientOvertakeEachOther) {
  FakeEtcd::Options options;
  options.faults.request_delay_max = 50 * ms;
  start(options);
  int overtaken = 0;
  for (int i = 0; i < 50; ++i) {
    put("a", "first");
    put("a", "second");
    time_.run_for(100 * ms);
    overtaken += value("a") == "first" ? 1 : 0;
  }
  EXPECT_GT(overtaken, 5);
  EXPECT_LT(overtaken, 45);
}

TEST_F(FakeEtcdTest, AfterAnUnknownOutcomeAnotherMemberIsAsked) {
  start();
  const std::array<std::string, 4> members = {"member 1", "member 2", "member 0", "member 1"};
  for (const std::string& member : members) {
    etcd_->plan(*nodes_[0], CallKind::Get, {.is_request_lost = true});
    const Result& result = get("a");
    time_.run_for(2 * second);
    EXPECT_TRUE(result.message.starts_with(member)) << result.message;
  }
}

TEST_F(FakeEtcdTest, WithoutAMajorityNothingHappens) {
  for (const bool is_kept : {false, true}) {
    etcd_.reset();
    start();
    etcd_->lose_majority(is_kept ? FakeEtcd::Held::Kept : FakeEtcd::Held::Dropped);
    const Result& written = put("a", "1");
    const Result& read = get("a", 1);
    const Result& lease = grant(5);
    Result status;
    clients_[0]->member_status(0, deadline(), [&](const auto& outcome) {
      const auto* answer = std::get_if<etcd::MemberStatus>(&outcome);
      status.answers += answer != nullptr && !answer->has_leader && !answer->is_leader ? 1 : 0;
    });
    time_.run_for(patience + ms);
    EXPECT_TRUE(written.is(CallError::Unknown));
    EXPECT_TRUE(read.is(CallError::Unknown));
    EXPECT_TRUE(lease.is(CallError::Unknown));
    EXPECT_EQ(status.answers, 1);
    EXPECT_EQ(value("a"), "none");
    etcd_->regain_majority();
    time_.run_for(5 * second);
    EXPECT_EQ(value("a"), is_kept ? "1" : "none");
    EXPECT_EQ(etcd_->model().leases().size(), is_kept ? 1U : 0U);
    EXPECT_EQ(written.answers + read.answers + lease.answers, 3);
    for (auto& client : clients_) client.reset();
  }
}

TEST_F(FakeEtcdTest, WithoutAMajorityNoLeaseExpires) {
  start();
  const etcd::LeaseId lease = granted(5);
  put("a", "1", 0, lease);
  time_.run_for(4 * second);
  etcd_->lose_majority();
  time_.run_for(60 * second);
  etcd_->end_lease(lease);
  EXPECT_EQ(value("a"), "1");
  etcd_->regain_majority();
  EXPECT_EQ(value("a"), "1");
  EXPECT_TRUE(time_.run_until([&] { return value("a") == "none"; }, 7 * second));
}

TEST_F(FakeEtcdTest, AnElectionExtendsLeasesByUpToTheirTime) {
  Nanos longest = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    etcd_.reset();
    start({.seed = seed});
    const etcd::LeaseId lease = granted(10);
    put("a", "1", 0, lease);
    time_.run_for(9 * second);
    EXPECT_EQ(value("a"), "1");
    etcd_->elect();
    const Nanos elected_at = time_.now();
    EXPECT_TRUE(time_.run_until([&] { return value("a") == "none"; }, 12 * second));
    EXPECT_GE(time_.now() - elected_at, 950 * ms) << "never shorter";
    longest = std::max(longest, time_.now() - elected_at);
    for (auto& client : clients_) client.reset();
  }
  EXPECT_GT(longest, 9 * second);
}

TEST_F(FakeEtcdTest, ALeaseMayEndEarly) {
  start();
  Watched& watched = watch(1);
  const etcd::LeaseId lease = granted(10);
  put("b", "1", 0, lease);
  put("a", "1", 0, lease);
  time_.run_for(10 * ms);
  etcd_->end_lease(lease);
  const Result& kept = keep_alive(lease);
  time_.run_for(10 * ms);
  EXPECT_TRUE(kept.is(CallError::LeaseNotFound));
  EXPECT_TRUE(watched.events.ends_with("-a -b")) << watched.events;

  EtcdFaults faults;
  faults.short_leases_per_mille = 1000;
  etcd_->set_faults(faults);
  put("c", "1", 0, granted(10));
  EXPECT_TRUE(time_.run_until([&] { return value("c") == "1"; }, second));
  EXPECT_TRUE(time_.run_until([&] { return value("c") == "none"; }, 10 * second));
}

// What makes a lease safe: it lasts at least its time from when the call was made.
TEST_F(FakeEtcdTest, ALeaseLastsFromTheCallThatKeptIt) {
  FakeEtcd::Options options;
  options.faults.request_delay_max = 300 * ms;
  options.faults.answer_delay_max = 300 * ms;
  options.faults.lost_answers_per_mille = 300;
  options.faults.election_every = 3 * second;
  start(options);
  const auto lease = [&] {
    while (true) {
      const Result& result = grant(5);
      time_.run_for(patience + ms);
      if (result.is_good()) return result.lease;
    }
  }();
  const Result& written = put("a", "1", 0, lease);
  time_.run_for(patience + ms);
  ASSERT_EQ(value("a"), "1") << written.message;
  for (int i = 0; i < 50; ++i) {
    const Nanos called_at = time_.now();
    if (keep_alive(lease).answers > 0) FAIL() << "answered inside of the call";
    time_.run_until([&] { return value("a") != "1"; }, called_at + 4 * second - time_.now());
    ASSERT_EQ(value("a"), "1");
  }
  const Nanos last = time_.now() - 4 * second;
  EXPECT_TRUE(time_.run_until([&] { return value("a") == "none"; }, 60 * second));
  EXPECT_GE(time_.now(), last + 5 * second);
}

TEST_F(FakeEtcdTest, ANodeThatIsCutOffHearsNothing) {
  start();
  Watched& cut_watch = watch(1, 0);
  Watched& other_watch = watch(1, 1);
  time_.run_for(10 * ms);
  etcd_->plan(*nodes_[0], CallKind::Commit, {.answer_delay = 50 * ms});
  const Result& on_its_way = put("a", "1");
  time_.run_for(10 * ms);
  etcd_->cut_off(*nodes_[0]);
  const Nanos cut_at = time_.now();
  const Result& lost = put("b", "1");
  const Result& other = put("c", "1", 1);
  time_.run_for(20 * second);
  EXPECT_TRUE(on_its_way.is(CallError::Unknown));
  EXPECT_TRUE(lost.is(CallError::Unknown));
  EXPECT_TRUE(other.is_good());
  EXPECT_EQ(value("a") + value("b") + value("c"), "1none1");
  ASSERT_TRUE(cut_watch.ended);
  EXPECT_LE(cut_watch.ended_at, cut_at + 15 * second + VirtualTime::turn_max);
  EXPECT_EQ(cut_watch.events, "a1");
  EXPECT_EQ(other_watch.events, "a1 c1");
  EXPECT_FALSE(other_watch.ended);
  EXPECT_GE(other_watch.signs_of_life, 1U);

  Watched& deaf = watch(1);
  time_.run_for(16 * second);
  EXPECT_TRUE(deaf.ended) << "nobody has heard of it";
  etcd_->cut_off(*nodes_[0], false);
  Watched& again = watch(1);
  const Result& good = put("b", "2");
  time_.run_for(second);
  EXPECT_TRUE(good.is_good());
  EXPECT_EQ(again.events, "a1 c1 b2");
}

TEST_F(FakeEtcdTest, WatchesEnd) {
  start();
  Watched& watched = watch(1, 0);
  Watched& other = watch(1, 1);
  time_.run_for(10 * ms);
  etcd_->end_watches(*nodes_[0]);
  put("a", "1", 1);
  time_.run_for(10 * ms);
  ASSERT_TRUE(watched.ended);
  EXPECT_EQ(watched.ended->compact_revision, 0);
  EXPECT_EQ(watched.events, "");
  EXPECT_EQ(other.events, "a1");
  etcd_->lose_majority();
  time_.run_for(3 * second + ms);
  EXPECT_TRUE(other.ended) << "its member has lost its leader";
  Watched& refused = watch(1, 1);
  time_.run_for(10 * ms);
  EXPECT_TRUE(refused.ended);
}

TEST_F(FakeEtcdTest, ALateWatchIsOvertakenByACompaction) {
  start();
  put("a", "1");
  Watched& late = watch(1, 0);
  Watched& other = watch(1, 1);
  time_.run_for(10 * ms);
  etcd_->delay_watches(*nodes_[0], 2 * second);
  for (const char* value : {"2", "3", "4"}) {
    put("a", value);
    time_.run_for(10 * ms);
  }
  time_.run_for(second);
  EXPECT_EQ(late.events, "a1");
  EXPECT_EQ(other.events, "a1 a2 a3 a4");
  etcd_->compact(etcd_->model().revision());
  time_.run_for(2 * second);
  ASSERT_TRUE(late.ended);
  EXPECT_EQ(late.ended->compact_revision, etcd_->model().revision());
  EXPECT_EQ(late.events, "a1");
  EXPECT_FALSE(other.ended);
}

TEST_F(FakeEtcdTest, WithoutSpaceOnlyDeletesAreTaken) {
  start({.limits = {.quota_bytes = 1'500}});
  const auto after = [&](Result& result) -> Result& {
    time_.run_for(10 * ms);
    return result;
  };
  EXPECT_TRUE(after(put("a", std::string(500, 'x'))).is_good());
  EXPECT_TRUE(after(put("b", std::string(500, 'x'))).is(CallError::NoSpace));
  EXPECT_TRUE(after(put("b", "")).is(CallError::NoSpace)) << "it would fit, but for the alarm";
  EXPECT_TRUE(after(grant(5)).is(CallError::NoSpace));
  EXPECT_TRUE(after(get("a")).is_good());
  EXPECT_TRUE(after(remove("a")).is_good());
  etcd_->compact(etcd_->model().revision());
  EXPECT_TRUE(after(put("b", "")).is(CallError::NoSpace)) << "the file has not shrunk";
  etcd_->set_full(false);
  EXPECT_TRUE(after(put("b", std::string(500, 'x'))).is_good());
  etcd_->set_full(true);
  EXPECT_TRUE(after(put("c", "")).is(CallError::NoSpace));
}

TEST_F(FakeEtcdTest, ARestoreGoesBack) {
  start();
  const etcd::LeaseId lease = granted(5);
  put("a", "1", 0, lease);
  time_.run_for(10 * ms);
  const EtcdModel snapshot = etcd_->model();
  Watched& watched = watch(1);
  put("a", "2");
  time_.run_for(10 * ms);
  put("b", "1");
  time_.run_for(10 * ms);
  etcd_->plan(*nodes_[0], CallKind::Commit, {.request_delay = second / 2});
  const Result& on_its_way = put("c", "1");
  etcd_->restore(snapshot);
  EXPECT_EQ(value("a") + value("b"), "1none");
  EXPECT_EQ(etcd_->model().revision(), snapshot.revision());
  const Result& next = put("d", "1");
  time_.run_for(3 * second + ms);
  EXPECT_TRUE(on_its_way.is(CallError::Unknown));
  EXPECT_TRUE(next.is_good());
  EXPECT_EQ(etcd_->model().revision(), snapshot.revision() + 1);
  EXPECT_TRUE(watched.ended);
  EXPECT_TRUE(watched.events.ends_with("b1")) << watched.events;
  EXPECT_TRUE(time_.run_until([&] { return value("a") == "none"; }, 3 * second)) << "its lease";
}

TEST_F(FakeEtcdTest, AnotherClusterIsEmpty) {
  start();
  const etcd::LeaseId lease = granted(5);
  put("a", "1");
  time_.run_for(10 * ms);
  etcd_->replace();
  const Result& kept = keep_alive(lease);
  time_.run_for(10 * ms);
  EXPECT_TRUE(kept.is(CallError::LeaseNotFound));
  EXPECT_EQ(value("a"), "none");
  EXPECT_EQ(etcd_->model().revision(), 1);
}

TEST_F(FakeEtcdTest, AWatchThatIsCancelledOnItsWayIsNotOpened) {
  start();
  for (size_t node = 0; node < nodes_.size(); ++node) {
    etcd_->plan(*nodes_[node], CallKind::Watch, {.request_delay = second});
    int reports = 0;
    const auto report = [&](const etcd::WatchReport&) { ++reports; };
    const etcd::WatchId watch = clients_[node]->watch({"a", "z"}, 1, report);
    clients_[node]->cancel_watch(watch);
    if (node == 1) clients_[node].reset();
    put("a", "1");
    time_.run_for(2 * second);
    if (node == 0) clients_[node]->cancel_watch(watch);
    put("a", "2");
    time_.run_for(20 * second);
    EXPECT_EQ(reports, 0);
  }
}

TEST_F(FakeEtcdTest, ACallOutlivesItsClient) {
  start();
  const Result& result = put("a", "1");
  clients_[0].reset();
  time_.run_for(2 * second);
  EXPECT_EQ(result.answers, 0);
  EXPECT_EQ(value("a"), "1");
}

TEST_F(FakeEtcdTest, APausedNodeIsAnsweredOnceAndLate) {
  start();
  Watched& watched = watch(1);
  time_.run_for(10 * ms);
  const Result& result = put("a", "1");
  nodes_[0]->pause();
  time_.run_for(5 * second);
  EXPECT_EQ(value("a"), "1") << "it was sent";
  EXPECT_EQ(result.answers, 0);
  nodes_[0]->resume();
  time_.run_for(ms);
  EXPECT_EQ(result.answers, 1);
  EXPECT_GE(result.after, 5 * second);
  EXPECT_EQ(watched.events, "a1");
}

TEST_F(FakeEtcdTest, AKilledNodeIsNotAnswered) {
  start();
  Watched& watched = watch(1);
  const Result& result = put("a", "1");
  nodes_[0]->kill();
  time_.run_for(5 * second);
  EXPECT_EQ(result.answers, 0);
  EXPECT_EQ(watched.events, "");
  EXPECT_EQ(value("a"), "1");
}

TEST_F(FakeEtcdTest, HealingEndsAllFaults) {
  start({.faults = EtcdFaults::all()});
  for (int i = 0; i < 100; ++i) {
    put("a", "1");
    time_.run_for(second);
  }
  etcd_->cut_off(*nodes_[1]);
  etcd_->lose_majority();
  etcd_->set_full(true);
  etcd_->heal();
  time_.run_for(10 * second);
  for (size_t node = 0; node < nodes_.size(); ++node) {
    for (int i = 0; i < 100; ++i) {
      const Result& result = put("a", "2", node);
      time_.run_for(10 * ms);
      ASSERT_TRUE(result.is_good());
    }
  }
}

}  // namespace
}  // namespace perennial::support
