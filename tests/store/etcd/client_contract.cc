#include "tests/store/etcd/client_contract.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace perennial::store::etcd {
namespace {

const std::string prefix = "contract/";
const KeyRange all_keys = {prefix, "contract0"};

KeyRange key(const std::string& name) {
  return {prefix + name, ""};
}
KeyRange range(const std::string& from, const std::string& end) {
  return {prefix + from, prefix + end};
}
Compare version_is(const std::string& name, int64_t number, Compare::Is is = Compare::Is::Equal) {
  return {.key = prefix + name, .field = Compare::Field::Version, .is = is, .number = number};
}
Put put_of(const std::string& name, const std::string& value, LeaseId lease = 0) {
  return {prefix + name, value, lease};
}

// A transaction that names only what it has.
struct Do {
  std::vector<Compare> conditions = {};
  std::vector<Operation> then = {};
  std::vector<Operation> otherwise = {};
  operator Transaction() const { return {conditions, then, otherwise}; }
};

std::string text(CallError error) {
  switch (error) {
    case CallError::Unknown:
      return "Unknown";
    case CallError::NoSpace:
      return "NoSpace";
    case CallError::TooLarge:
      return "TooLarge";
    case CallError::Compacted:
      return "Compacted";
    case CallError::LeaseNotFound:
      return "LeaseNotFound";
    case CallError::Denied:
      return "Denied";
    case CallError::Invalid:
      return "Invalid";
  }
  return "an error that is none";
}

std::string text(Revision revision, Revision base) {
  return (revision < base ? "" : "+") + std::to_string(revision - base);
}

// As in "a=1 v1 c+0 m+0": the version, and revisions from `base`.
std::string text(const KeyValue& found, Revision base) {
  return found.key.substr(prefix.size()) + "=" + found.value + " v" +
         std::to_string(found.version) + " c" + text(found.create_revision, base) + " m" +
         text(found.mod_revision, base);
}

std::string text(const Found& found, Revision base) {
  std::string out = "[";
  for (const KeyValue& one : found.keys) {
    out += (out.size() == 1 ? "" : ", ") + text(one, base);
  }
  return out + "] of " + std::to_string(found.count) + (found.more ? " more" : "") + " at " +
         text(found.revision, base);
}

template <typename T>
std::string text(const Outcome<T>& outcome, Revision base) {
  if (const auto* failure = std::get_if<Failure>(&outcome)) return text(failure->error);
  if constexpr (std::is_same_v<T, Found>) {
    return text(std::get<Found>(outcome), base);
  } else if constexpr (std::is_same_v<T, TransactionDone>) {
    const auto& done = std::get<TransactionDone>(outcome);
    std::string out = (done.held ? "held at " : "not held at ") + text(done.revision, base);
    for (const Found& found : done.gets) out += " " + text(found, base);
    return out;
  } else {
    return "done";
  }
}

// As in "a=1 v1 m+1", or "a gone m+1".
std::string text(const WatchEvents& report, Revision base) {
  std::string out;
  for (const WatchEvent& event : report.events) {
    const std::string name = event.key.key.substr(prefix.size());
    out += (out.empty() ? "" : ", ") +
           (event.is_delete ? name + " gone" : name + "=" + event.key.value) + " m" +
           text(event.key.mod_revision, base);
  }
  return out;
}

// What a watch has reported.
struct Watched {
  std::vector<WatchEvents> reports = {};
  std::optional<WatchEnded> ended = {};
  int after_end = 0;

  std::function<void(WatchReport)> receiver() {
    return [this](const WatchReport& report) {
      after_end += ended ? 1 : 0;
      if (const auto* events = std::get_if<WatchEvents>(&report)) {
        reports.push_back(*events);
      } else {
        ended = std::get<WatchEnded>(report);
      }
    };
  }
  size_t events() const {
    size_t count = 0;
    for (const WatchEvents& report : reports) count += report.events.size();
    return count;
  }
  // All events in one line. Fails if reports are out of order, or divide a revision.
  std::string line(Revision base) const {
    std::string out;
    Revision last = 0;
    for (const WatchEvents& report : reports) {
      for (const WatchEvent& event : report.events) {
        EXPECT_GT(event.key.mod_revision, last) << "in an earlier report";
        EXPECT_LE(event.key.mod_revision, report.revision);
      }
      EXPECT_GE(report.revision, last);
      last = report.revision;
      if (!report.events.empty()) out += (out.empty() ? "" : "; ") + text(report, base);
    }
    return out;
  }
};

}  // namespace

std::string contract_case_name(const testing::TestParamInfo<ContractCase>& info) {
  return info.param.name;
}

void ClientContract::SetUp() {
  harness_ = GetParam().make();
  ASSERT_NE(harness_, nullptr);
  const Do clear = {.then = {Delete{all_keys}}};
  ASSERT_TRUE(std::holds_alternative<TransactionDone>(commit(clear)));
}

bool ClientContract::run_until(const std::function<bool()>& done) {
  return harness_->run_until(done, 20 * nanos_per_second);
}
void ClientContract::run_for(Nanos time) {
  EXPECT_FALSE(harness_->run_until([] { return false; }, time));
}

Outcome<TransactionDone> ClientContract::commit(Transaction transaction) {
  return wait<TransactionDone>([&](Done<TransactionDone> done) {
    client().commit(std::move(transaction), deadline(), std::move(done));
  });
}
Outcome<Found> ClientContract::get(Get request) {
  return wait<Found>(
      [&](Done<Found> done) { client().get(std::move(request), deadline(), std::move(done)); });
}
Outcome<Compacted> ClientContract::compact(Revision at) {
  return wait<Compacted>(
      [&](Done<Compacted> done) { client().compact(at, deadline(), std::move(done)); });
}
Outcome<LeaseGranted> ClientContract::grant(int64_t ttl_s) {
  return wait<LeaseGranted>(
      [&](Done<LeaseGranted> done) { client().grant(ttl_s, deadline(), std::move(done)); });
}
Outcome<LeaseKept> ClientContract::keep_alive(LeaseId lease) {
  return wait<LeaseKept>(
      [&](Done<LeaseKept> done) { client().keep_alive(lease, deadline(), std::move(done)); });
}
Outcome<LeaseRevoked> ClientContract::revoke(LeaseId lease) {
  return wait<LeaseRevoked>(
      [&](Done<LeaseRevoked> done) { client().revoke(lease, deadline(), std::move(done)); });
}
int64_t ClientContract::time_to_live(LeaseId lease) {
  const auto outcome = wait<LeaseLeft>(
      [&](Done<LeaseLeft> done) { client().time_to_live(lease, deadline(), std::move(done)); });
  return std::get<LeaseLeft>(outcome).ttl_s;
}

Revision ClientContract::put(const std::string& name, const std::string& value, LeaseId lease) {
  const Do transaction = {.then = {put_of(name, value, lease)}};
  const auto outcome = commit(transaction);
  const auto* done = std::get_if<TransactionDone>(&outcome);
  EXPECT_NE(done, nullptr) << text(outcome, 0);
  return done == nullptr ? 0 : done->revision;
}
Revision ClientContract::remove(const std::string& name) {
  const Do transaction = {.then = {Delete{key(name)}}};
  const auto outcome = commit(transaction);
  const auto* done = std::get_if<TransactionDone>(&outcome);
  EXPECT_NE(done, nullptr) << text(outcome, 0);
  return done == nullptr ? 0 : done->revision;
}
LeaseId ClientContract::granted(int64_t ttl_s) {
  const auto outcome = grant(ttl_s);
  const auto* lease = std::get_if<LeaseGranted>(&outcome);
  EXPECT_NE(lease, nullptr) << text(outcome, 0);
  return lease == nullptr ? 0 : lease->lease;
}
Revision ClientContract::revision() {
  const auto outcome = get({.range = all_keys, .limit = 1});
  const auto* found = std::get_if<Found>(&outcome);
  EXPECT_NE(found, nullptr) << text(outcome, 0);
  return found == nullptr ? 0 : found->revision;
}
std::string ClientContract::content() {
  const auto outcome = get({.range = all_keys});
  const auto* found = std::get_if<Found>(&outcome);
  if (found == nullptr) return text(outcome, 0);
  std::string out;
  for (const KeyValue& one : found->keys) {
    out += (out.empty() ? "" : " ") + one.key.substr(prefix.size()) + "=" + one.value;
  }
  return out;
}

TEST_P(ClientContract, CommitsTransactions) {
  struct Case {
    std::string name;
    Do transaction;
    std::string want;     // Revisions are counted from the one before.
    std::string content;  // Afterwards.
  };
  const LeaseId no_lease = 77;
  Compare created = version_is("a", 0, Compare::Is::Greater);
  created.field = Compare::Field::CreateRevision;
  Compare modified = created;
  modified.field = Compare::Field::ModRevision;
  const std::vector<Operation> many(129, Get{.range = key("a")});
  // Before each: a was written twice, then b and c in one transaction.
  const std::string before = "a=2 b=1 c=1";
  const std::vector<Case> cases = {
      {"nothing", {}, "held at +0", before},
      {"only a comparison", {.conditions = {version_is("a", 2)}}, "held at +0", before},
      {"one that fails", {.conditions = {version_is("a", 1)}}, "not held at +0", before},
      {"not equal",
       {.conditions = {version_is("a", 1, Compare::Is::NotEqual)}},
       "held at +0",
       before},
      {"greater",
       {.conditions = {version_is("a", 2, Compare::Is::Greater)}},
       "not held at +0",
       before},
      {"less", {.conditions = {version_is("a", 3, Compare::Is::Less)}}, "held at +0", before},
      {"create and mod revision", {.conditions = {created, modified}}, "held at +0", before},
      {"a missing key has 0", {.conditions = {version_is("x", 0)}}, "held at +0", before},
      {"all conditions must hold",
       {.conditions = {version_is("a", 2), version_is("b", 7)},
        .then = {put_of("a", "then")},
        .otherwise = {put_of("a", "otherwise")}},
       "not held at +1",
       "a=otherwise b=1 c=1"},
      {"puts and deletes share a revision",
       {.then = {put_of("a", "3"), Delete{key("b")}, put_of("d", "1"),
                 Get{.range = range("a", "z")}}},
       "held at +1 [a=3 v3 c-2 m+1, c=1 v1 c+0 m+0, d=1 v1 c+1 m+1] of 3 at +1",
       "a=3 c=1 d=1"},
      {"a get sees what was done before it",
       {.then = {Get{.range = key("b")}, put_of("b", "2"), Get{.range = key("b")}}},
       "held at +1 [b=1 v1 c+0 m+0] of 1 at +1 [b=2 v2 c+0 m+1] of 1 at +1",
       "a=2 b=2 c=1"},
      {"a get in the branch that is done",
       {.conditions = {version_is("a", 9)}, .then = {}, .otherwise = {Get{.range = key("a")}}},
       "not held at +0 [a=2 v2 c-2 m-1] of 1 at +0",
       before},
      {"a key is deleted, and made anew",
       {.then = {Delete{key("a")}, Delete{key("a")}}},
       "held at +1",
       "b=1 c=1"},
      {"a range is deleted", {.then = {Delete{range("a", "c")}}}, "held at +1", "c=1"},
      {"nothing to delete", {.then = {Delete{key("x")}}}, "held at +0", before},
      {"an empty range", {.then = {Delete{range("c", "a")}}}, "held at +0", before},
      {"a key is put twice", {.then = {put_of("x", "1"), put_of("x", "2")}}, "Invalid", before},
      {"twice in the branch that is not done",
       {.then = {put_of("x", "1")}, .otherwise = {put_of("y", "1"), put_of("y", "2")}},
       "Invalid",
       before},
      {"put in both branches",
       {.then = {put_of("a", "3")}, .otherwise = {put_of("a", "4")}},
       "held at +1",
       "a=3 b=1 c=1"},
      {"put and deleted", {.then = {put_of("a", "1"), Delete{range("a", "b")}}}, "Invalid", before},
      {"deleted and put", {.then = {Delete{key("a")}, put_of("a", "1")}}, "Invalid", before},
      {"deleted up to what is put",
       {.then = {Delete{range("a", "b")}, put_of("b", "2")}},
       "held at +1",
       "b=2 c=1"},
      {"no key to put", {.then = {Put{"", "1"}}}, "Invalid", before},
      {"no key to get", {.then = {Get{}}}, "Invalid", before},
      {"no key to compare", {.conditions = {Compare{}}}, "Invalid", before},
      {"an unknown lease",
       {.then = {put_of("x", "1"), put_of("y", "1", no_lease)}},
       "LeaseNotFound",
       before},
      {"an unknown lease in the branch that is not done",
       {.then = {put_of("x", "1")}, .otherwise = {put_of("x", "1", no_lease)}},
       "held at +1",
       before + " x=1"},
      {"a get of the future, after a put",
       {.then = {put_of("x", "1"), Get{.range = key("x"), .revision = int64_t{1} << 60}}},
       "Invalid",
       before},
      {"an unknown lease after a get of the future",
       {.then = {Get{.range = key("x"), .revision = int64_t{1} << 60}, put_of("x", "1", no_lease)}},
       "LeaseNotFound",
       before},
      {"too many operations", {.then = many}, "Invalid", before},
      {"too many bytes", {.then = {put_of("x", std::string(1'600'000, 'x'))}}, "TooLarge", before},
      {"nearly as many",
       {.then = {put_of("a", std::string(1'572'000, 'x')), Delete{range("b", "c")}}},
       "held at +1",
       "a=" + std::string(1'572'000, 'x') + " c=1"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    const Do clear = {.then = {Delete{all_keys}}};
    commit(clear);
    put("a", "1");
    put("a", "2");
    const Do both = {.then = {put_of("b", "1"), put_of("c", "1")}};
    commit(both);
    const Revision base = revision();
    EXPECT_EQ(text(commit(one.transaction), base), one.want);
    EXPECT_EQ(content(), one.content);
  }
}

TEST_P(ClientContract, ReadsRanges) {
  put("a", "1");
  put("b", "1");
  put("c", "1");
  const Revision base = revision();
  put("b", "2");
  remove("c");
  put("d", "1");
  compact(base - 1);
  struct Case {
    std::string name;
    Get request;
    std::string want;
  };
  const KeyRange all = range("a", "z");
  const std::vector<Case> cases = {
      {"a key", {.range = key("b")}, "[b=2 v2 c-1 m+1] of 1 at +3"},
      {"no key", {.range = key("x")}, "[] of 0 at +3"},
      {"a range", {.range = range("b", "d")}, "[b=2 v2 c-1 m+1] of 1 at +3"},
      {"an empty range", {.range = range("d", "b")}, "[] of 0 at +3"},
      {"limited", {.range = all, .limit = 2}, "[a=1 v1 c-2 m-2, b=2 v2 c-1 m+1] of 3 more at +3"},
      {"limited to all",
       {.range = all, .limit = 3, .keys_only = true},
       "[a= v1 c-2 m-2, b= v2 c-1 m+1, d= v1 c+3 m+3] of 3 at +3"},
      {"an old revision",
       {.range = all, .revision = base},
       "[a=1 v1 c-2 m-2, b=1 v1 c-1 m-1, c=1 v1 c+0 m+0] of 3 at +3"},
      {"the oldest that there is",
       {.range = all, .revision = base - 1},
       "[a=1 v1 c-2 m-2, b=1 v1 c-1 m-1] of 2 at +3"},
      {"one that is compacted", {.range = all, .revision = base - 2}, "Compacted"},
      {"one of the future", {.range = all, .revision = base + 4}, "Invalid"},
      {"no key given", {}, "Invalid"},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(text(get(one.request), base), one.want);
  }
}

TEST_P(ClientContract, MakesADeletedKeyAnew) {
  const Revision base = put("a", "1");
  remove("a");
  put("a", "2");
  EXPECT_EQ(text(get({.range = key("a")}), base), "[a=2 v1 c+2 m+2] of 1 at +2");
}

TEST_P(ClientContract, CompactsTheHistory) {
  put("a", "1");
  const Revision now = put("a", "2");
  EXPECT_EQ(text(compact(now + 1), 0), "Invalid");
  EXPECT_EQ(text(compact(now - 1), 0), "done");
  EXPECT_EQ(text(compact(now - 1), 0), "Compacted");
  EXPECT_EQ(text(compact(0), 0), "Compacted");
  EXPECT_EQ(text(compact(now), 0), "done");
  EXPECT_EQ(revision(), now) << "a compaction does not raise it";
  EXPECT_EQ(content(), "a=2");
}

TEST_P(ClientContract, CompactsWhereAKeyWasDeleted) {
  put("a", "1");
  const Revision gone = remove("a");
  put("b", "1");
  EXPECT_EQ(text(compact(gone), 0), "done");
  EXPECT_EQ(text(get({.range = key("a"), .revision = gone}), gone), "[] of 0 at +1");
  EXPECT_EQ(text(compact(gone + 1), 0), "done");
  put("a", "2");
  EXPECT_EQ(text(get({.range = key("a")}), gone), "[a=2 v1 c+2 m+2] of 1 at +2");
}

TEST_P(ClientContract, GrantsKeepsAndRevokesLeases) {
  const auto outcome = grant(5);
  const auto* lease = std::get_if<LeaseGranted>(&outcome);
  ASSERT_NE(lease, nullptr);
  EXPECT_GT(lease->lease, 0);
  EXPECT_EQ(lease->ttl_s, 5);
  const auto short_one = grant(1);
  EXPECT_EQ(std::get<LeaseGranted>(short_one).ttl_s, 2) << "etcd's least";
  const auto kept = keep_alive(lease->lease);
  EXPECT_EQ(std::get<LeaseKept>(kept).ttl_s, 5);

  const Revision base = put("b", "1", lease->lease);
  put("a", "1", lease->lease);
  put("c", "1");
  EXPECT_EQ(revision(), base + 2);
  const auto found = get({.range = key("a")});
  EXPECT_EQ(std::get<Found>(found).keys.at(0).lease, lease->lease);
  EXPECT_EQ(text(revoke(lease->lease), 0), "done");
  EXPECT_EQ(content(), "c=1");
  EXPECT_EQ(revision(), base + 3) << "its keys go in one revision";
  EXPECT_EQ(text(keep_alive(lease->lease), 0), "LeaseNotFound");
  EXPECT_EQ(text(revoke(lease->lease), 0), "LeaseNotFound");
  EXPECT_EQ(text(grant(9'000'000'001), 0), "Invalid");
}

TEST_P(ClientContract, AKeyHasTheLeaseOfItsLastPut) {
  const LeaseId first = granted(30);
  const LeaseId second = granted(30);
  for (const char* name : {"a", "b", "c"}) put(name, "1", first);
  put("a", "2", second);
  put("b", "2");
  EXPECT_EQ(text(revoke(first), 0), "done");
  EXPECT_EQ(content(), "a=2 b=2");
  const Revision base = remove("a");
  EXPECT_EQ(text(revoke(second), 0), "done");
  EXPECT_EQ(revision(), base) << "it had no key any more";
}

TEST_P(ClientContract, ALeaseExpiresUnlessItIsKept) {
  const LeaseId kept = granted(2);
  const LeaseId expired = granted(2);
  put("a", "1", kept);
  put("b", "1", expired);
  put("c", "1", expired);
  for (int i = 0; i < 5; ++i) {
    run_for(nanos_per_second);
    EXPECT_EQ(text(keep_alive(kept), 0), "done");
  }
  EXPECT_EQ(content(), "a=1");
  EXPECT_EQ(text(keep_alive(expired), 0), "LeaseNotFound");
  EXPECT_EQ(text(revoke(kept), 0), "done");
}

// Whoever asks does not renew it.
TEST_P(ClientContract, SaysWhatIsLeftOfALease) {
  const LeaseId lease = granted(60);
  EXPECT_GE(time_to_live(lease), 59);
  EXPECT_LE(time_to_live(lease), 61);
  run_for(3 * nanos_per_second);
  EXPECT_LE(time_to_live(lease), 58);
  EXPECT_EQ(text(revoke(lease), 0), "done");
  EXPECT_EQ(time_to_live(lease), 0);
}

TEST_P(ClientContract, AWatchReportsWhatWasAndWhatComes) {
  const Revision base = put("a", "1");
  put("b", "1");
  Watched watched;
  const WatchId watch = client(1).watch(range("a", "c"), base, watched.receiver());
  EXPECT_TRUE(watched.reports.empty()) << "reported inside of the call";
  ASSERT_TRUE(run_until([&] { return watched.events() == 2; }));
  put("c", "out of range");
  const Do change = {.then = {put_of("b", "2"), Delete{key("a")}, put_of("d", "out of range")}};
  ASSERT_EQ(text(commit(change), base), "held at +3");
  put("a", "2");
  ASSERT_TRUE(run_until([&] { return watched.events() == 5; }));
  std::string all;
  for (const WatchEvents& report : watched.reports) {
    if (!report.events.empty()) all += (all.empty() ? "" : ", ") + text(report, base);
  }
  EXPECT_EQ(all, "a=1 m+0, b=1 m+1, b=2 m+3, a gone m+3, a=2 m+4");
  for (const WatchEvents& report : watched.reports) {
    for (const WatchEvent& event : report.events) {
      if (!event.is_delete) continue;
      EXPECT_EQ(event.key.value, "");
      EXPECT_EQ(event.key.create_revision, 0);
      EXPECT_EQ(event.key.version, 0);
      EXPECT_EQ(event.key.lease, 0);
    }
  }
  const std::string line = watched.line(base);
  EXPECT_NE(line.find("b=2 m+3, a gone m+3"), std::string::npos)
      << "all events of a revision are in one report: " << line;
  client(1).cancel_watch(watch);
  put("a", "3");
  run_for(nanos_per_second);
  EXPECT_EQ(watched.events(), 5U);
  EXPECT_FALSE(watched.ended);
}

TEST_P(ClientContract, AWatchFromTheFutureWaitsForIt) {
  const Revision base = put("a", "1");
  Watched watched;
  const WatchId watch = client().watch(key("a"), base + 3, watched.receiver());
  for (const char* value : {"2", "3", "4", "5"}) put("a", value);
  ASSERT_TRUE(run_until([&] { return watched.events() == 2; }));
  EXPECT_EQ(watched.reports.back().events.back().key.value, "5");
  EXPECT_EQ(watched.reports.back().revision, base + 4);
  client().cancel_watch(watch);
  client().cancel_watch(watch);
}

TEST_P(ClientContract, AQuietWatchGivesSignsOfLife) {
  const Revision base = put("a", "1");
  Watched watched;
  const WatchId watch = client().watch(key("a"), base + 1, watched.receiver());
  run_for(nanos_per_second);  // So that it is open.
  put("b", "1");              // No event of this watch.
  ASSERT_TRUE(run_until([&] { return !watched.reports.empty(); }));
  EXPECT_EQ(watched.events(), 0U);
  EXPECT_EQ(watched.reports.back().revision, base);
  EXPECT_FALSE(watched.ended);
  client().cancel_watch(watch);
}

TEST_P(ClientContract, AWatchEndsWhereTheHistoryIsCompacted) {
  const Revision base = put("a", "1");
  put("a", "2");
  put("a", "3");
  ASSERT_EQ(text(compact(base + 1), 0), "done");
  Watched watched;
  client().watch(key("a"), base, watched.receiver());
  EXPECT_FALSE(watched.ended) << "reported inside of the call";
  ASSERT_TRUE(run_until([&] { return watched.ended.has_value(); }));
  EXPECT_EQ(watched.ended->compact_revision, base + 1);
  EXPECT_EQ(watched.events(), 0U);
  put("a", "4");
  Watched second;
  const WatchId watch = client().watch(key("a"), base + 1, second.receiver());
  ASSERT_TRUE(run_until([&] { return second.events() == 3; }));
  EXPECT_EQ(watched.after_end, 0);
  client().cancel_watch(watch);
}

// etcd before 3.4.36: a watch that begins at the revision of the compaction misses its deletes.
TEST_P(ClientContract, AWatchMayMissTheDeletesOfTheCompactedRevision) {
  put("a", "1");
  const Revision gone = remove("a");
  put("b", "1");
  ASSERT_EQ(text(compact(gone), 0), "done");
  Watched watched;
  const WatchId watch = client().watch(range("a", "c"), gone, watched.receiver());
  ASSERT_TRUE(run_until([&] { return watched.events() > 0; }));
  const std::string line = watched.line(gone);
  EXPECT_TRUE(line.ends_with("b=1 m+1")) << line;
  client().cancel_watch(watch);
}

TEST_P(ClientContract, AnEmptyRangeIsNotWatched) {
  Watched watched;
  client().watch(range("c", "a"), revision(), watched.receiver());
  ASSERT_TRUE(run_until([&] { return watched.ended.has_value(); }));
  EXPECT_EQ(watched.ended->compact_revision, 0);
}

TEST_P(ClientContract, AWatchMayBeCancelledByItsOwnReport) {
  const Revision base = put("a", "1");
  put("a", "2");
  int reports = 0;
  WatchId watch = 0;
  watch = client().watch(key("a"), base, [&](const WatchReport&) {
    ++reports;
    client().cancel_watch(watch);
  });
  ASSERT_TRUE(run_until([&] { return reports > 0; }));
  put("a", "3");
  run_for(nanos_per_second);
  EXPECT_EQ(reports, 1);
}

TEST_P(ClientContract, ADeadlineThatIsOverIsUnknown) {
  const Nanos past = deadline() - 6 * nanos_per_second;
  const auto outcome = wait<Found>(
      [&](Done<Found> done) { client().get({.range = all_keys}, past, std::move(done)); });
  EXPECT_EQ(text(outcome, 0), "Unknown");
}

TEST_P(ClientContract, ManyCallsAtOnceAreEachAnsweredOnce) {
  std::vector<int> answers(200, 0);
  for (size_t i = 0; i < answers.size(); ++i) {
    const Do transaction = {.then = {put_of("many", std::to_string(i))}};
    client(i % 2).commit(transaction, deadline(), [&answers, i](const auto& outcome) {
      EXPECT_TRUE(std::holds_alternative<TransactionDone>(outcome));
      ++answers[i];
    });
  }
  ASSERT_TRUE(run_until([&] { return std::count(answers.begin(), answers.end(), 1) == 200; }));
  const auto found = get({.range = key("many")});
  EXPECT_EQ(std::get<Found>(found).keys.at(0).version, 200);
}

TEST_P(ClientContract, AMemberSaysHowItIs) {
  ASSERT_GT(client().members(), 0U);
  int leaders = 0;
  for (size_t member = 0; member < client().members(); ++member) {
    const auto outcome = wait<MemberStatus>([&](Done<MemberStatus> done) {
      client().member_status(member, deadline(), std::move(done));
    });
    const auto* status = std::get_if<MemberStatus>(&outcome);
    ASSERT_NE(status, nullptr);
    EXPECT_TRUE(status->has_leader);
    EXPECT_FALSE(status->endpoint.empty());
    EXPECT_TRUE(status->version.starts_with("3.")) << status->version;
    EXPECT_GT(status->term, 0U);
    leaders += status->is_leader ? 1 : 0;
  }
  EXPECT_EQ(leaders, 1);
}

}  // namespace perennial::store::etcd
