// The client against one real member of etcd.
#include "store/etcd/grpc_client.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <signal.h>

#include "tests/store/etcd/etcd_process.h"
#include "tests/store/etcd/session.h"

namespace perennial::store::etcd {
namespace {

constexpr size_t mebibyte = 1 << 20;

class GrpcClientTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (etcd_is_present()) etcd_ = new EtcdCluster(1);
  }
  static void TearDownTestSuite() {
    delete etcd_;
    etcd_ = nullptr;
  }
  void SetUp() override {
    if (etcd_ == nullptr) GTEST_SKIP() << "skipped: etcd is not unpacked (tests/run does it)";
    session_ = std::make_unique<Session>(etcd_->endpoints());
    session_->wait_until_ready();
  }
  // Keys of this test alone.
  std::string key(const std::string& name) const {
    return std::string(testing::UnitTest::GetInstance()->current_test_info()->name()) + "/" + name;
  }
  KeyRange all() const { return keys_with_prefix(key("")); }
  Found found(Get request) { return std::get<Found>(session_->get(std::move(request))); }
  Revision put(const std::string& name, std::string value, LeaseId lease = 0) {
    return std::get<TransactionDone>(session_->put(key(name), std::move(value), lease)).revision;
  }

  static EtcdCluster* etcd_;
  std::unique_ptr<Session> session_;
};
EtcdCluster* GrpcClientTest::etcd_ = nullptr;

TEST_F(GrpcClientTest, ReadsWhatWasWritten) {
  const Revision first = put("a", "1");
  const Revision second = put("b", std::string("\0\xff", 2));
  const Revision third = put("a", "2");
  const Found both = found({.range = all()});
  ASSERT_EQ(both.keys.size(), 2u);
  EXPECT_EQ(both.count, 2);
  EXPECT_FALSE(both.more);
  EXPECT_EQ(both.revision, third);
  EXPECT_EQ(both.keys[0].key, key("a"));
  EXPECT_EQ(both.keys[0].value, "2");
  EXPECT_EQ(both.keys[0].version, 2);
  EXPECT_EQ(both.keys[0].create_revision, first);
  EXPECT_EQ(both.keys[0].mod_revision, third);
  EXPECT_EQ(both.keys[1].value, std::string("\0\xff", 2));
  EXPECT_EQ(both.keys[1].mod_revision, second);
  EXPECT_EQ(found({.range = {.key = key("a")}, .revision = first}).keys[0].value, "1");
  EXPECT_TRUE(found({.range = {.key = key("none")}}).keys.empty());
  EXPECT_TRUE(found({.range = {.key = key("a")}, .keys_only = true}).keys[0].value.empty());
}

TEST_F(GrpcClientTest, ReadsARangeInPages) {
  for (int i = 0; i < 5; ++i) put(std::to_string(i), "value");
  const Found page = found({.range = all(), .limit = 2});
  ASSERT_EQ(page.keys.size(), 2u);
  EXPECT_TRUE(page.more);
  EXPECT_EQ(page.count, 5);
  EXPECT_EQ(page.keys[1].key, key("1"));
  Get rest{.range = {.key = key("3"), .end = all().end}, .limit = 2};
  EXPECT_FALSE(found(rest).more);
}

TEST_F(GrpcClientTest, ATransactionComparesEachFieldInEachWay) {
  const Revision created = put("a", "1");
  put("other", "");
  const Revision changed = put("a", "2");
  struct Case {
    Compare::Field field;
    int64_t number;  // That the field has.
  };
  using Is = Compare::Is;
  for (const Case& c : {Case{Compare::Field::Version, 2},
                        {Compare::Field::CreateRevision, created},
                        {Compare::Field::ModRevision, changed}}) {
    for (const int64_t off : {-1, 0, 1}) {
      for (const Is is : {Is::Equal, Is::NotEqual, Is::Greater, Is::Less}) {
        const bool holds = is == Is::Equal      ? off == 0
                           : is == Is::NotEqual ? off != 0
                           : is == Is::Greater  ? off < 0
                                                : off > 0;
        const Compare condition{
            .key = key("a"), .field = c.field, .is = is, .number = c.number + off};
        const auto done =
            session_->commit({.conditions = {condition}, .then = {}, .otherwise = {}});
        EXPECT_EQ(std::get<TransactionDone>(done).held, holds)
            << static_cast<int>(c.field) << " " << static_cast<int>(is) << " " << off;
      }
    }
    // A key that does not exist has 0 in all fields.
    const Compare none{.key = key("none"), .field = c.field, .number = 0};
    EXPECT_TRUE(std::get<TransactionDone>(
                    session_->commit({.conditions = {none}, .then = {}, .otherwise = {}}))
                    .held);
  }
}

TEST_F(GrpcClientTest, ATransactionDoesOneOfTwoLists) {
  put("a", "1");
  put("b", "1");
  const Compare exists{.key = key("a"), .field = Compare::Field::Version, .number = 1};
  const Compare absent{.key = key("b"), .field = Compare::Field::Version, .number = 0};
  const Get get_a{.range = {.key = key("a")}};
  const Get get_all{.range = all()};
  const auto held = std::get<TransactionDone>(
      session_->commit({.conditions = {exists},
                        .then = {get_a, Delete{.range = {.key = key("b")}}, get_all},
                        .otherwise = {Put{.key = key("c"), .value = "no"}}}));
  EXPECT_TRUE(held.held);
  ASSERT_EQ(held.gets.size(), 2u);
  EXPECT_EQ(held.gets[0].keys[0].value, "1");
  EXPECT_EQ(held.gets[1].count, 1);
  EXPECT_EQ(held.gets[1].revision, held.revision);
  put("b", "2");
  // One of two conditions does not hold.
  const auto failed =
      std::get<TransactionDone>(session_->commit({.conditions = {exists, absent},
                                                  .then = {Put{.key = key("c"), .value = "no"}},
                                                  .otherwise = {get_all}}));
  EXPECT_FALSE(failed.held);
  ASSERT_EQ(failed.gets.size(), 1u);
  EXPECT_EQ(failed.gets[0].count, 2);
}

TEST_F(GrpcClientTest, ALeaseKeepsItsKeysUntilItIsRevoked) {
  const auto granted = std::get<LeaseGranted>(session_->grant(60));
  EXPECT_NE(granted.lease, 0);
  EXPECT_EQ(granted.ttl_s, 60);
  put("a", "1", granted.lease);
  EXPECT_EQ(found({.range = {.key = key("a")}}).keys[0].lease, granted.lease);
  EXPECT_EQ(std::get<LeaseKept>(session_->keep_alive(granted.lease)).ttl_s, 60);
  EXPECT_EQ(result_of(session_->revoke(granted.lease)), "ok");
  EXPECT_EQ(found({.range = {.key = key("a")}}).count, 0);
  EXPECT_EQ(result_of(session_->keep_alive(granted.lease)), "lease not found");
  EXPECT_EQ(result_of(session_->revoke(granted.lease)), "lease not found");
  EXPECT_EQ(result_of(session_->put(key("a"), "2", granted.lease)), "lease not found");
}

TEST_F(GrpcClientTest, RefusesWhatEtcdDoesNotUnderstand) {
  EXPECT_EQ(result_of(session_->put("", "no key")), "invalid");
  EXPECT_EQ(result_of(session_->get({.range = {.key = "a"}, .revision = 1 << 30})), "invalid");
  const Put twice{.key = key("a"), .value = "1"};
  EXPECT_EQ(
      result_of(session_->commit({.conditions = {}, .then = {twice, twice}, .otherwise = {}})),
      "invalid");
  EXPECT_EQ(result_of(session_->compact(1 << 30)), "invalid");
}

TEST_F(GrpcClientTest, LargeValuesPassAndTooLargeOnesDoNot) {
  const std::string large(mebibyte, 'x');
  for (int i = 0; i < 6; ++i) put(std::to_string(i), large);
  const Found together = found({.range = all()});  // More than gRPC receives by default.
  ASSERT_EQ(together.keys.size(), 6u);
  for (const KeyValue& one : together.keys) EXPECT_TRUE(one.value == large);
  EXPECT_EQ(result_of(session_->put(key("a"), std::string(2 * mebibyte, 'x'))), "too large");
  EXPECT_EQ(result_of(session_->put(key("a"), std::string(10 * mebibyte, 'x'))), "too large");
  EXPECT_EQ(found({.range = {.key = key("a")}}).count, 0);
  // An answer past the limit tells nothing of what was done.
  for (int i = 10; i < 40; ++i) put(std::to_string(i), large);
  EXPECT_EQ(result_of(session_->get({.range = all()})), "unknown");
  EXPECT_EQ(found({.range = all(), .limit = 4}).keys.size(), 4u);
}

TEST_F(GrpcClientTest, ACompactedRevisionIsGone) {
  const Revision old = put("a", "1");
  const Revision newest = put("a", "2");
  EXPECT_EQ(result_of(session_->compact(newest)), "ok");
  EXPECT_EQ(result_of(session_->get({.range = all(), .revision = old})), "compacted");
  EXPECT_EQ(result_of(session_->compact(old)), "compacted");
  EXPECT_EQ(found({.range = all(), .revision = newest}).keys[0].value, "2");
}

TEST_F(GrpcClientTest, AMemberSaysHowItIs) {
  const auto status = std::get<MemberStatus>(session_->status(0));
  EXPECT_EQ(status.endpoint, etcd_->endpoints()[0]);
  EXPECT_TRUE(status.is_leader);
  EXPECT_TRUE(status.has_leader);
  EXPECT_GT(status.database_bytes, 0);
  EXPECT_GT(status.term, 0u);
  EXPECT_EQ(status.version.substr(0, 2), "3.");
  EXPECT_EQ(session_->client().members(), 1u);
}

TEST_F(GrpcClientTest, DoneIsNeverCalledFromInsideOfTheCall) {
  std::promise<bool> inside;
  session_->run([&] {
    auto is_inside = std::make_shared<bool>(true);
    session_->client().get({.range = all()}, 0,
                           [&, is_inside](const Outcome<Found>&) { inside.set_value(*is_inside); });
    *is_inside = false;
  });
  EXPECT_FALSE(inside.get_future().get());
}

TEST_F(GrpcClientTest, DoneMayEndTheClient) {
  std::promise<std::string> result;
  Session ending(etcd_->endpoints());
  ending.run([&] {
    ending.client().get({.range = all()}, ending.in(), [&](const Outcome<Found>& outcome) {
      const std::string got = result_of(outcome);
      ending.drop_client();
      result.set_value(got);
    });
  });
  EXPECT_EQ(result.get_future().get(), "ok");
}

// A stopped member keeps its connections and answers nothing.
TEST_F(GrpcClientTest, EveryCallEndsByItsDeadlineWhenTheMemberIsStopped) {
  constexpr Nanos within = 200 * nanos_per_ms;
  const auto granted = std::get<LeaseGranted>(session_->grant(60));
  etcd_->signal(0, SIGSTOP);
  std::vector<std::string> results;
  results.push_back(result_of(session_->get({.range = all()}, within)));
  results.push_back(result_of(session_->put(key("a"), "1", 0, within)));
  results.push_back(result_of(session_->compact(1, within)));
  results.push_back(result_of(session_->grant(60, within)));
  results.push_back(result_of(session_->keep_alive(granted.lease, within)));
  results.push_back(result_of(session_->revoke(granted.lease, within)));
  results.push_back(result_of(session_->status(0, within)));
  etcd_->signal(0, SIGCONT);
  EXPECT_EQ(results, std::vector<std::string>(7, "unknown"));
  EXPECT_EQ(result_of(session_->get({.range = all()})), "ok");
}

TEST_F(GrpcClientTest, AnEndWithCallsUnderWayCallsNoneOfThem) {
  const Revision revision = put("a", "1");
  const auto granted = std::get<LeaseGranted>(session_->grant(60));
  std::atomic<int> calls = 0;
  const auto count = [&](const auto&) { ++calls; };
  const Nanos deadline = session_->in();
  const auto begin_all = [&](Client& client) {
    client.get({.range = all()}, deadline, count);
    client.commit({}, deadline, count);
    client.compact(1, deadline, count);
    client.grant(60, deadline, count);
    client.keep_alive(granted.lease, deadline, count);
    client.revoke(granted.lease, deadline, count);
    client.member_status(0, deadline, count);
    client.watch(all(), revision, count);
  };
  etcd_->signal(0, SIGSTOP);
  session_->run([&] { begin_all(session_->client()); });
  session_->end_client();
  {
    Session never_connected(etcd_->endpoints());
    never_connected.run([&] { begin_all(never_connected.client()); });
  }
  session_.reset();
  etcd_->signal(0, SIGCONT);
  EXPECT_EQ(calls, 0);
}

TEST_F(GrpcClientTest, AFullDatabaseTakesOnlyDeletes) {
  EtcdCluster small(1, {"--quota-backend-bytes=2097152"});
  Session session(small.endpoints());
  session.wait_until_ready();
  std::string result = "ok";
  for (int i = 0; i < 200 && result == "ok"; ++i)
    result = result_of(session.put(std::to_string(i), std::string(mebibyte / 2, 'x')));
  EXPECT_EQ(result, "no space");
  EXPECT_EQ(result_of(session.put("a", "1")), "no space");
  EXPECT_EQ(result_of(session.commit(
                {.conditions = {}, .then = {Delete{.range = {.key = "0"}}}, .otherwise = {}})),
            "ok");
  EXPECT_EQ(std::get<Found>(session.get({.range = {.key = "0"}})).count, 0);
}

// As an operator makes space: a compaction, `etcdctl defrag`, and the alarm.
TEST_F(GrpcClientTest, AnAlarmStaysUntilItIsDisarmed) {
  EtcdCluster small(1, {"--quota-backend-bytes=2097152"});
  Session session(small.endpoints());
  session.wait_until_ready();
  const auto status = [&] { return std::get<MemberStatus>(session.status(0)); };
  EXPECT_TRUE(status().alarms.empty());
  const auto fill = [&] { return result_of(session.put("0", std::string(mebibyte / 2, 'x'))); };
  for (int i = 0; i < 200 && fill() == "ok"; ++i) continue;
  const Alarm alarm = {.member = status().id, .kind = Alarm::Kind::NoSpace};
  EXPECT_NE(alarm.member, 0U);
  EXPECT_EQ(status().alarms, std::vector{alarm});
  const auto found = std::get<Found>(session.get({.range = {.key = "0"}}));
  EXPECT_EQ(result_of(session.compact(found.revision)), "ok");
  ASSERT_TRUE(small.control({"defrag"}));
  EXPECT_EQ(result_of(session.put("a", "1")), "no space");
  EXPECT_EQ(result_of(session.disarm(alarm)), "ok");
  EXPECT_TRUE(status().alarms.empty());
  EXPECT_EQ(result_of(session.put("a", "1")), "ok");
}

// What was answered is there afterwards, and all that was not is unknown.
TEST_F(GrpcClientTest, AnEndOfEtcdInTheMiddleLeavesUnknownOutcomes) {
  constexpr int puts = 400;
  EtcdCluster etcd(1);
  Session session(etcd.endpoints());
  session.wait_until_ready();
  std::mutex mutex;
  std::vector<std::string> results(puts);
  std::atomic<int> answered = 0;
  std::atomic<int> succeeded = 0;
  session.run([&] {
    for (int i = 0; i < puts; ++i) {
      const Put put{.key = std::to_string(i), .value = std::string(10'000, 'x')};
      session.client().commit({.conditions = {}, .then = {put}, .otherwise = {}}, session.in(),
                              [&, i](const Outcome<TransactionDone>& outcome) {
                                const std::lock_guard lock(mutex);
                                results[i] = result_of(outcome);
                                if (results[i] == "ok") ++succeeded;
                                ++answered;
                              });
    }
  });
  while (succeeded < 10) std::this_thread::yield();
  etcd.kill_now(0);
  Session::wait_for([&] { return answered == puts; });
  etcd.start(0);
  session.wait_until_ready();
  for (int i = 0; i < puts; ++i) {
    const bool is_there =
        std::get<Found>(session.get({.range = {.key = std::to_string(i)}})).count == 1;
    EXPECT_TRUE(results[i] == "unknown" || (results[i] == "ok" && is_there)) << i << results[i];
  }
}

TEST_F(GrpcClientTest, AWatchReportsAllChangesInOrder) {
  const Revision first = put("a", "1");
  put("b", "1");
  Reports reports;
  session_->run([&] { session_->client().watch(all(), first, reports.handler()); });
  reports.wait_for_events(2);
  const auto both = session_->commit(
      {.conditions = {},
       .then = {Put{.key = key("a"), .value = "2"}, Put{.key = key("b"), .value = "2"}},
       .otherwise = {}});
  const auto deleted = session_->commit(
      {.conditions = {}, .then = {Delete{.range = {.key = key("a")}}}, .otherwise = {}});
  std::vector<std::string> seen;
  for (const WatchEvents& report : reports.wait_for_events(5)) {
    EXPECT_EQ(report.revision, report.events.back().key.mod_revision);
    for (const WatchEvent& event : report.events)
      seen.push_back((event.is_delete ? "delete " : "put ") + event.key.key + event.key.value);
  }
  EXPECT_EQ(seen,
            (std::vector<std::string>{"put " + key("a1"), "put " + key("b1"), "put " + key("a2"),
                                      "put " + key("b2"), "delete " + key("a")}));
  const auto all_reports = reports.wait_for_events(5);
  EXPECT_EQ(all_reports.back().revision, std::get<TransactionDone>(deleted).revision);
  EXPECT_EQ(all_reports[all_reports.size() - 2].events.size(), 2u);
  EXPECT_EQ(all_reports[all_reports.size() - 2].revision, std::get<TransactionDone>(both).revision);
}

// Two keys in each revision; etcd's fragments of 1.5 MiB end between them.
TEST_F(GrpcClientTest, AWatchPutsFragmentsTogether) {
  constexpr int revisions = 12;
  Revision first = 0;
  for (int i = 0; i < revisions; ++i) {
    const auto done =
        session_->commit({.conditions = {},
                          .then = {Put{.key = key("small"), .value = std::string(300'000, 'x')},
                                   Put{.key = key("large"), .value = std::string(900'000, 'y')}},
                          .otherwise = {}});
    if (first == 0) first = std::get<TransactionDone>(done).revision;
  }
  Reports reports;
  session_->run([&] { session_->client().watch(all(), first, reports.handler()); });
  const auto seen = reports.wait_for_events(2 * revisions);
  EXPECT_GT(seen.size(), 1u);  // There were fragments.
  Revision expected = first;
  for (const WatchEvents& report : seen) {
    ASSERT_EQ(report.events.size() % 2, 0u);
    for (size_t i = 0; i < report.events.size(); i += 2, ++expected) {
      EXPECT_EQ(report.events[i].key.mod_revision, expected);
      EXPECT_EQ(report.events[i + 1].key.mod_revision, expected);
      EXPECT_EQ(report.events[i].key.value.size(), 300'000u);
      EXPECT_EQ(report.events[i + 1].key.value.size(), 900'000u);
    }
    EXPECT_EQ(report.revision, expected - 1);
  }
}

TEST_F(GrpcClientTest, AWatchOfACompactedRevisionEnds) {
  const Revision old = put("a", "1");
  const Revision newest = put("a", "2");
  ASSERT_EQ(result_of(session_->compact(newest)), "ok");
  Reports reports;
  session_->run([&] { session_->client().watch(all(), old, reports.handler()); });
  EXPECT_EQ(reports.wait_for_end().compact_revision, newest);
}

TEST_F(GrpcClientTest, AQuietWatchGivesSignsOfLifeAndReportsNoRevisionAhead) {
  const Revision from = put("a", "1") + 1;
  Reports reports;
  session_->run([&] { session_->client().watch(all(), from, reports.handler()); });
  // A revision that does not concern the watch.
  ASSERT_EQ(result_of(session_->put("elsewhere", "1")), "ok");
  // The confirmation, and the answer to a request for progress.
  const auto seen =
      reports.wait_for([](const std::vector<WatchReport>& all) { return all.size() == 2; });
  for (const WatchReport& report : seen) {
    EXPECT_TRUE(std::get<WatchEvents>(report).events.empty());
    EXPECT_EQ(std::get<WatchEvents>(report).revision, from - 1);
  }
}

TEST_F(GrpcClientTest, ACancelledWatchReportsNothingMore) {
  const Revision from = put("a", "1");
  std::atomic<int> later = 0;
  std::promise<void> cancelled;
  WatchId watch = 0;
  session_->run([&] {
    watch = session_->client().watch(all(), from, [&](const WatchReport& report) {
      const auto* const events = std::get_if<WatchEvents>(&report);
      if (events == nullptr || events->events.empty() || watch == 0) {
        if (watch == 0) ++later;
        return;
      }
      // From inside of its own report, and again, when it is no more.
      session_->client().cancel_watch(watch);
      session_->client().cancel_watch(watch);
      watch = 0;
      cancelled.set_value();
    });
  });
  cancelled.get_future().wait();
  Reports other;
  session_->run([&] { session_->client().watch(all(), from, other.handler()); });
  put("a", "2");
  other.wait_for_events(2);
  session_->run([] {});
  EXPECT_EQ(later, 0);
}

TEST_F(GrpcClientTest, AWatchEndsWithItsMember) {
  EtcdCluster etcd(1);
  Session session(etcd.endpoints());
  session.wait_until_ready();
  Reports reports;
  session.run([&] { session.client().watch({.key = "a"}, 1, reports.handler()); });
  ASSERT_EQ(result_of(session.put("a", "1")), "ok");
  reports.wait_for_events(1);
  etcd.kill_now(0);
  EXPECT_EQ(reports.wait_for_end().compact_revision, 0);
}

}  // namespace
}  // namespace perennial::store::etcd
