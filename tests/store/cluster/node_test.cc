#include "store/cluster/node.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/node_fixture.h"
#include "tests/store/cluster/simulated_node.h"
#include "tests/support/etcd_client_wrapper.h"

// One node, two nodes and an etcd, each fault by hand. node_random_test.cc has all of them at once.
namespace perennial::store::cluster {
namespace {

using support::CallFate;
using support::CallKind;
using support::FakeEtcd;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST_F(NodeTest, TheFirstNodeFoundsTheClusterAndLeads) {
  const auto node = start("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return node->leads(); }, 5 * second));
  EXPECT_EQ(node->epoch(), 1U);
  EXPECT_EQ(disk_a_.cluster_id, "id-of-a");
  node->write_always(true);
  run_for(second);
  EXPECT_GT(acknowledged_.size(), 100U);
  expect_all(disk_a_);
}

TEST_F(NodeTest, AStandbyFollows) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  EXPECT_FALSE(b->leads());
  EXPECT_EQ(b->node().role(), Role::Standby);
  ASSERT_TRUE(b->leader().has_value());
  EXPECT_EQ(b->leader()->client_address, "a:11300");
  a->write_always(false);
  run_for(second);
  EXPECT_TRUE(disk_b_.entries == disk_a_.entries);
  EXPECT_EQ(disk_b_.cluster_id, disk_a_.cluster_id);
}

// It looks again and again, and says so once.
TEST_F(NodeTest, AStandbyIsToldOfALeaderOnce) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(30 * second);
  EXPECT_EQ(b->leaders_told(), 1);
}

// The lease decides when the machine is silent.
TEST_F(NodeTest, AStandbyTakesOverWhenTheLeaseIsOver) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  a->kill();
  const Nanos took = time_until([&] { return b->leads(); });
  EXPECT_GT(took, (lease_s - lease_s / 5 - 2) * second);
  EXPECT_LT(took, (lease_s + 3) * second);
  EXPECT_EQ(b->epoch(), 2U);
  expect_all(disk_b_);
  b->write_always(true);
  run_for(second);
  expect_all(disk_b_);
}

TEST_F(NodeTest, ADeadLeaderIsReplacedAtOnce) {
  auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  a->kill();
  b->process().post([&] { b->node().leader_has_ended(1); });
  EXPECT_LT(time_until([&] { return b->leads(); }), second / 2);
  expect_all(disk_b_);
}

// A report of an earlier leader's end does no harm to the one that leads now.
TEST_F(NodeTest, TheEndOfAnEarlierLeaderMeansNothing) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  b->process().post([&] { b->node().leader_has_ended(7); });
  run_for(second);
  EXPECT_FALSE(b->leads());
  EXPECT_TRUE(a->leads());
}

// It has told the time before it ended, so that nobody need compare clocks.
TEST_F(NodeTest, ARestartedLeaderLeadsAtOnce) {
  auto a = start_leader("a", disk_a_);
  run_for(3 * second);
  a->kill();
  const auto again = start("a", disk_a_);
  EXPECT_LT(time_until([&] { return again->leads(); }), second);
  EXPECT_EQ(again->epoch(), 2U);
}

// Its lease is renewed, and it writes nothing: nobody waits for it for ever.
TEST_F(NodeTest, AnotherThatSaysNothingIsAwaitedForTwoLeases) {
  NodeRecord silent;
  silent.node = "z";
  silent.directory = "directory-z";
  silent.client_address = "z:11300";
  put_for(Keys("jobs").node("z"), encode(silent), 10 * lease_s);
  run_for(second);
  const auto a = start("a", disk_a_);
  run_for(2 * lease_s * second - second);
  EXPECT_FALSE(a->leads());
  EXPECT_TRUE(run_until([&] { return a->leads(); }, 5 * second));
}

TEST_F(NodeTest, AnEmptyDirectoryGetsTheWholeLog) {
  auto a = start_leader("a", disk_a_);
  run_for(second);
  a->kill();
  SimulatedDisk empty{.directory = "directory-c"};
  const auto again = start("a", empty);
  // Its name is still taken by the directory that is lost, until that lease is over.
  EXPECT_LT(time_until([&] { return again->leads(); }), (lease_s + 3) * second);
  // The last entry may have been committed and not yet applied.
  EXPECT_GE(empty.last(), disk_a_.last());
  expect_all(empty);
}

TEST_F(NodeTest, WhoLeavesIsReplacedAtOnce) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  a->write_always(false);
  run_for(second);
  bool left = false;
  a->process().post([&] { a->node().leave([&] { left = true; }); });
  EXPECT_LT(time_until([&] { return b->leads(); }), second);
  EXPECT_TRUE(left);
}

TEST_F(NodeTest, ALeaderHandsOverUnderLoad) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  ask_to_hand_over(encode(HandoverRecord{.epoch = 1, .to = ""}));
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 2 * second));
  EXPECT_EQ(a->lost(), "handed over");
  EXPECT_LT(time_until([&] { return b->leads(); }), second / 2);
  EXPECT_THAT(a->handovers(), ElementsAre(""));
  EXPECT_EQ(b->epoch(), 2U);
  expect_all(disk_b_);
  EXPECT_FALSE(has_key(Keys("jobs").handover()));
  run_for(3 * second);
  EXPECT_TRUE(b->leads());
}

// As an operator asks at the port of the leader.
TEST_F(NodeTest, ALeaderThatIsAskedItselfHandsOverIfAStandbyMayLead) {
  const auto a = start_leader("a", disk_a_);
  const auto ask = [](const auto& node) {
    node->process().post([&node] { node->node().ask_handover(); });
  };
  ask(a);
  run_for(2 * second);
  EXPECT_THAT(a->handovers(), IsEmpty());
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  ask(b);
  run_for(2 * second);
  EXPECT_THAT(b->handovers(), IsEmpty()) << "it does not lead";
  // A load that leaves each standby a thousand entries behind would let none lead.
  a->write_always(false);
  run_for(2 * second);
  ask(a);
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 2 * second));
  EXPECT_THAT(a->handovers(), ElementsAre(""));
  EXPECT_LT(time_until([&] { return b->leads(); }), second / 2);
  expect_all(disk_b_);
}

// c holds as much as b, and has the later name. Without the request b would lead.
TEST_F(NodeTest, AHandoverPrefersTheNodeThatItNames) {
  SimulatedDisk disk_c{.directory = "directory-c"};
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  const auto c = start("c", disk_c);
  run_for(5 * second);
  a->write_always(false);
  run_for(2 * second);
  ask_to_hand_over(encode(HandoverRecord{.epoch = 1, .to = "c"}));
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 2 * second));
  EXPECT_LT(time_until([&] { return c->leads(); }), second / 2);
  EXPECT_FALSE(b->leads());
  EXPECT_THAT(a->handovers(), ElementsAre("c"));
  EXPECT_FALSE(has_key(Keys("jobs").next())) << "the election deletes it";
}

TEST_F(NodeTest, WithoutARequestTheFirstInOrderLeads) {
  SimulatedDisk disk_c{.directory = "directory-c"};
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  const auto c = start("c", disk_c);
  run_for(5 * second);
  a->write_always(false);
  run_for(2 * second);
  ask_to_hand_over(encode(HandoverRecord{.epoch = 1, .to = ""}));
  ASSERT_TRUE(run_until([&] { return b->leads(); }, 3 * second));
  EXPECT_FALSE(c->leads());
}

// It is there and does not stand. The others do, a little later.
TEST_F(NodeTest, AHandoverToANodeThatHangsGoesToAnother) {
  SimulatedDisk disk_c{.directory = "directory-c"};
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  const auto c = start("c", disk_c);
  run_for(5 * second);
  c->process().pause();
  ask_to_hand_over(encode(HandoverRecord{.epoch = 1, .to = "c"}));
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 2 * second));
  EXPECT_TRUE(has_key(Keys("jobs").next()));
  const Nanos took = time_until([&] { return b->leads(); });
  EXPECT_GT(took, 2 * second - second / 10);
  EXPECT_LT(took, 5 * second);
  EXPECT_FALSE(has_key(Keys("jobs").next()));
  expect_all(disk_b_);
}

// Its lease is over, so nobody waits for it.
TEST_F(NodeTest, AHandoverToANodeThatIsGoneGoesToAnotherAtOnce) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  ask_to_hand_over(encode(HandoverRecord{.epoch = 1, .to = "nobody"}));
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 2 * second));
  EXPECT_LT(time_until([&] { return b->leads(); }), second / 2);
}

TEST_F(NodeTest, ARequestOfAnotherEpochOrWithoutMeaningIsDeleted) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  for (const std::string& value :
       {encode(HandoverRecord{.epoch = 2, .to = "b"}), encode(HandoverRecord{.epoch = 0, .to = ""}),
        std::string("1"), std::string("{\"epoch\":1}")}) {
    ask_to_hand_over(value);
    run_for(2 * second);
    EXPECT_FALSE(has_key(Keys("jobs").handover())) << value;
  }
  EXPECT_TRUE(a->leads());
  EXPECT_THAT(a->handovers(), IsEmpty());
}

TEST_F(NodeTest, APausedLeaderCannotCommit) {
  const auto a = start_leader("a", disk_a_);
  const auto b = start("b", disk_b_);
  run_for(5 * second);
  a->process().pause();
  ASSERT_TRUE(run_until([&] { return b->leads(); }, 20 * second));
  b->write_always(true);
  run_for(second);
  a->process().resume();
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 5 * second));
  EXPECT_NE(a->lost(), "");
  run_for(second);
  EXPECT_TRUE(b->leads());
  expect_all(disk_b_);
}

TEST_F(NodeTest, ALeaderWithoutEtcdEndsWithItsLease) {
  const auto a = start_leader("a", disk_a_);
  run_for(second);
  etcd_.cut_off(a->process());
  const Nanos took = time_until([&] { return a->has_ended(); });
  EXPECT_LE(took, lease_s * second);
  EXPECT_THAT(a->lost(), HasSubstr("lease"));
}

// The grant is answered when the lease is over.
TEST_F(NodeTest, ANodeThatIsStoppedWhileItAsksForALeaseAsksAgain) {
  // Whether the answer or its deadline comes first when the process goes on is drawn.
  for (int i = 0; i < 20; ++i) {
    SimulatedDisk disk{.directory = fmt::format("directory-{}", i)};
    NodeOptions made = options(fmt::format("n{}", i));
    made.cluster = fmt::format("jobs{}", i);
    const auto node = start(made, disk);
    etcd_.plan(node->process(), CallKind::Grant, {.answer_delay = 100 * nanos_per_ms});
    run_for(130 * nanos_per_ms);
    node->process().pause();
    run_for(20 * second);
    node->process().resume();
    EXPECT_TRUE(run_until([&] { return node->leads(); }, 20 * second));
  }
}

TEST_F(NodeTest, AShortLossOfTheMajorityOnlyDelays) {
  const auto a = start_leader("a", disk_a_);
  run_for(second);
  etcd_.lose_majority();
  const size_t before = acknowledged_.size();
  run_for(4 * second);
  EXPECT_LE(acknowledged_.size(), before + 1);
  etcd_.regain_majority();
  run_for(3 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_GT(acknowledged_.size(), before + 100);
  expect_all(disk_a_);
}

struct Fate {
  std::string name;
  CallFate fate;
};

class UnknownOutcomeTest : public NodeTest, public testing::WithParamInterface<Fate> {};

// Whatever became of the try, the entry is in the log once, and is committed by an answer only.
TEST_P(UnknownOutcomeTest, TheSameEntryIsCommittedOnce) {
  const auto a = start_leader("a", disk_a_);
  run_for(second);
  for (int i = 0; i < 5; ++i) {
    etcd_.plan(a->process(), CallKind::Commit, GetParam().fate);
    const size_t before = acknowledged_.size();
    ASSERT_TRUE(run_until([&] { return acknowledged_.size() > before + 5; }, 10 * second));
  }
  run_for(10 * second);
  EXPECT_TRUE(a->leads());
  expect_all(disk_a_);
  const auto b = start("b", disk_b_);
  a->write_always(false);
  run_for(5 * second);
  EXPECT_TRUE(disk_b_.entries == disk_a_.entries);
}

INSTANTIATE_TEST_SUITE_P(Fates, UnknownOutcomeTest,
                         testing::Values(Fate{"LostRequest", {.is_request_lost = true}},
                                         Fate{"LostAnswer", {.is_answer_lost = true}},
                                         Fate{"LateRequest", {.request_delay = 3 * second}},
                                         Fate{"BrokenAndDone", {.error_after = nanos_per_ms}},
                                         Fate{"BrokenAndDoneLate",
                                              {.request_delay = 500 * nanos_per_ms,
                                               .error_after = nanos_per_ms}}),
                         [](const auto& fate) { return fate.param.name; });

TEST_F(NodeTest, ADirectoryOfAnotherClusterIsRefused) {
  const auto a = start_leader("a", disk_a_);
  disk_b_.cluster_id = "another";
  const auto b = start("b", disk_b_);
  ASSERT_TRUE(run_until([&] { return b->has_ended(); }, 5 * second));
  EXPECT_THAT(b->refused()->message(), HasSubstr("belongs to another cluster"));
  EXPECT_TRUE(a->leads());
}

TEST_F(NodeTest, ADirectoryWithJobsIsRefusedWhereThereIsACluster) {
  const auto a = start_leader("a", disk_a_);
  disk_b_.entries[1] = entry_bytes(1, 1, 5, "own");
  const auto b = start("b", disk_b_);
  ASSERT_TRUE(run_until([&] { return b->has_ended(); }, 5 * second));
  EXPECT_THAT(b->refused()->message(), HasSubstr("belongs to no cluster"));
}

TEST_F(NodeTest, ADirectoryWithJobsDoesNotFoundAClusterByItself) {
  disk_a_.entries[1] = entry_bytes(1, 1, 5, "own");
  const auto a = start("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 5 * second));
  EXPECT_THAT(a->refused()->message(), HasSubstr("perennial cluster init"));
}

TEST_F(NodeTest, AnEtcdThatHasLostTheClusterIsNotFoundedAnew) {
  auto a = start_leader("a", disk_a_);
  run_for(second);
  a->kill();
  etcd_.replace();
  const auto again = start("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return again->has_ended(); }, 5 * second));
  EXPECT_THAT(again->refused()->message(), HasSubstr("perennial cluster recover"));
}

TEST_F(NodeTest, ADirectoryAheadOfTheLogIsRefused) {
  auto a = start_leader("a", disk_a_);
  run_for(second);
  const auto snapshot = etcd_.model();
  run_for(second);
  a->kill();
  etcd_.restore(snapshot);
  const auto again = start("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return again->has_ended(); }, 5 * second));
  EXPECT_THAT(again->refused()->message(), HasSubstr("older snapshot"));
}

// The log has grown past the directory again, with other entries.
TEST_F(NodeTest, ADirectoryOfAnotherHistoryIsRefused) {
  auto a = start_leader("a", disk_a_);
  run_for(second);
  const auto snapshot = etcd_.model();
  run_for(second);
  a->kill();
  etcd_.restore(snapshot);
  const auto b = start_leader("b", disk_b_);
  ASSERT_TRUE(run_until([&] { return disk_b_.last() > disk_a_.last(); }, 20 * second));
  const auto again = start("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return again->has_ended(); }, 5 * second));
  EXPECT_THAT(again->refused()->message(), HasSubstr("is not that of the log"));
}

TEST_F(NodeTest, TwoNodesOfOneNameAreNoticed) {
  const auto a = start_leader("a", disk_a_);
  NodeOptions elsewhere = options("a");
  elsewhere.client_address = "elsewhere:11300";
  const auto other = start(elsewhere, disk_b_);
  ASSERT_TRUE(run_until([&] { return other->has_ended(); }, 5 * lease_s * second));
  EXPECT_THAT(other->refused()->message(), HasSubstr("another node of cluster jobs is called a"));
  EXPECT_TRUE(a->leads());
}

// An hour of faults has found it: etcd renews the lease of the lost directory's node at each of its
// elections.
TEST_F(NodeTest, ANodeOfTheSameAddressIsTakenForTheFormerOne) {
  auto a = start_leader("a", disk_a_);
  a->write_always(false);
  const auto other = start("a", disk_b_);
  EXPECT_FALSE(run_until([&] { return other->has_ended(); }, 50 * lease_s * second));
  a->kill();
  EXPECT_TRUE(run_until([&] { return other->leads(); }, 10 * lease_s * second));
}

TEST_F(NodeTest, TwoNodesOfOneNameAndAddressAreNoticedLater) {
  const auto a = start_leader("a", disk_a_);
  a->write_always(false);
  const auto other = start("a", disk_b_);
  ASSERT_TRUE(run_until([&] { return other->has_ended(); }, 65 * lease_s * second));
  EXPECT_THAT(other->refused()->message(), HasSubstr("another node of cluster jobs is called a"));
}

// The two deposed each other for ever.
TEST_F(NodeTest, ADirectoryThatWasClonedToAnotherMachineIsRefusedThere) {
  NodeOptions own = options("a");
  own.boot = "boot-1";
  const auto a = start(own, disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  a->write_always(true);
  run_for(second);
  SimulatedDisk clone = disk_a_;
  own.boot = "boot-2";
  const auto other = start(own, clone);
  ASSERT_TRUE(run_until([&] { return other->has_ended(); }, 65 * lease_s * second));
  EXPECT_THAT(other->refused()->message(), HasSubstr("a copy of this data directory"));
  EXPECT_TRUE(a->leads());
  EXPECT_EQ(a->epoch(), 1U);
}

// Its key tells nobody that its process has ended there, so its lease decides.
TEST_F(NodeTest, ADirectoryThatWasMovedToAnotherMachineWaitsForTheLease) {
  NodeOptions own = options("a");
  own.boot = "boot-1";
  auto a = start(own, disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  run_for(second);
  a->kill();
  own.boot = "boot-2";
  const auto moved = start(own, disk_a_);
  const Nanos took = time_until([&] { return moved->leads(); });
  EXPECT_GT(took, (lease_s - lease_s / 5 - 2) * second);
  EXPECT_LT(took, (lease_s + 3) * second);
}

TEST_F(NodeTest, EntriesThatTwoNodesHaveAreTrimmed) {
  NodeOptions small = options("a");
  small.trim = {.copies_min = 2, .keep_bytes = 1000, .bytes_max = 100'000};
  const auto a = start(small, disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 5 * second));
  a->write_always(true);
  run_for(second);
  const Keys keys("jobs");
  const auto entries = [&] {
    const auto found = etcd_.model().get({.range = keys.entries_from(0), .keys_only = true});
    return std::get<etcd::Found>(found).keys.size();
  };
  a->write_always(false);
  run_for(second / 10);  // Until nothing is on its way.
  EXPECT_EQ(entries(), acknowledged_.size()) << "one copy is not enough";
  a->write_always(true);
  small.node = "b";
  const auto b = start(small, disk_b_);
  run_for(5 * second);
  EXPECT_LT(entries(), acknowledged_.size() / 2);
  EXPECT_GE(entries(), 5U);
  EXPECT_EQ(b->fault(), "");
  a->write_always(false);
  run_for(second);
  EXPECT_TRUE(disk_a_.entries == disk_b_.entries);
}

TEST_F(NodeTest, WhoIsBehindTheTrimNeedsACheckpoint) {
  NodeOptions small = options("a");
  small.trim = {.copies_min = 1, .keep_bytes = 1000, .bytes_max = 100'000};
  const auto a = start(small, disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 5 * second));
  a->write_always(true);
  run_for(5 * second);
  const auto b = start("b", disk_b_);
  ASSERT_TRUE(run_until([&] { return b->has_ended(); }, 5 * second));
  EXPECT_TRUE(b->is_behind());
}

TEST_F(NodeTest, PutsWaitWhileNobodyHasTheLog) {
  NodeOptions small = options("a");
  small.trim = {.copies_min = 2, .keep_bytes = 1000, .bytes_max = 5'000};
  const auto a = start(small, disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 5 * second));
  a->write_always(true);
  ASSERT_TRUE(run_until([&] { return a->puts() == Puts::Held; }, 20 * second));
  small.node = "b";
  const auto b = start(small, disk_b_);
  ASSERT_TRUE(run_until([&] { return a->puts() == Puts::Accepted; }, 20 * second));
}

// The history of etcd, which is compacted, knows the former leaders for seconds only.
TEST_F(NodeTest, EachElectionIsRemembered) {
  const auto times = [&] {
    const auto found = etcd_.model().get({.range = {.key = Keys("jobs").elections(), .end = {}}});
    const auto& keys = std::get<etcd::Found>(found).keys;
    return keys.empty() ? ElectionTimes() : decode_elections(keys[0].value);
  };
  auto a = start_leader("a", disk_a_);
  ASSERT_EQ(times().size(), 1U);
  auto b = start("b", disk_b_);
  run_for(60 * second);
  a->kill();
  ASSERT_TRUE(run_until([&] { return b->leads(); }, 30 * second));
  ASSERT_EQ(times().size(), 2U);
  EXPECT_NEAR(static_cast<double>(times()[1] - times()[0]), 70'000, 10'000);
  // The oldest go.
  for (size_t i = 0; i < election_times_max; ++i) {
    b->kill();
    b = start("b", disk_b_);
    ASSERT_TRUE(run_until([&] { return b->leads(); }, 30 * second));
  }
  EXPECT_EQ(times().size(), election_times_max);
}

// Each node writes its own key each second, so a cluster without work would fill etcd in weeks.
TEST_F(NodeTest, ALeaderWithoutWorkCompactsEtcdsHistory) {
  const auto a = start("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  run_for(100 * second);
  EXPECT_GT(etcd_.model().revision(), 100);
  EXPECT_GT(etcd_.model().compacted(), etcd_.model().revision() - 20);
}

// Notes to whom the calls are sent.
class MemberClient final : public support::EtcdClientWrapper {
 public:
  MemberClient(std::unique_ptr<etcd::Client> real, std::vector<size_t>& preferred)
      : EtcdClientWrapper(std::move(real)), preferred_(preferred) {}
  void prefer(size_t member) override {
    preferred_.push_back(member);
    EtcdClientWrapper::prefer(member);
  }

 private:
  std::vector<size_t>& preferred_;
};

// Notes whether etcd is asked for more than a page of a range. For its values it would then read
// and send as much as there is.
class PageClient final : public support::EtcdClientWrapper {
 public:
  PageClient(std::unique_ptr<etcd::Client> real, etcd::KeyRange of, bool& reads_all)
      : EtcdClientWrapper(std::move(real)), of_(std::move(of)), reads_all_(reads_all) {}
  void get(etcd::Get request, Nanos deadline, etcd::Done<etcd::Found> done) override {
    note(request);
    EtcdClientWrapper::get(std::move(request), deadline, std::move(done));
  }
  void commit(etcd::Transaction transaction, Nanos deadline,
              etcd::Done<etcd::TransactionDone> done) override {
    for (const etcd::Operation& operation : transaction.then) {
      if (const auto* get = std::get_if<etcd::Get>(&operation)) note(*get);
    }
    EtcdClientWrapper::commit(std::move(transaction), deadline, std::move(done));
  }

 private:
  void note(const etcd::Get& get) {
    const bool is_in_it = get.range.key >= of_.key && get.range.key < of_.end;
    reads_all_ = reads_all_ || (is_in_it && !get.range.end.empty() && get.limit == 0);
  }

  const etcd::KeyRange of_;
  bool& reads_all_;
};

// A node that read the whole log to join would do so again and again where that takes longer than a
// call may, and take etcd's memory with it.
TEST_F(NodeTest, JoiningDoesNotReadTheWholeLog) {
  const etcd::KeyRange log = Keys("jobs").log_span().range;
  bool reads_all = false;
  world_.wrap = [&](std::unique_ptr<etcd::Client> real) {
    return std::make_unique<PageClient>(std::move(real), log, reads_all);
  };
  const auto a = start_leader("a", disk_a_);
  run_for(2 * second);
  const auto b = start("b", disk_b_);
  EXPECT_TRUE(run_until([&] { return disk_b_.last() > 10; }, 10 * second));
  EXPECT_FALSE(reads_all);
}

// A transaction that another member passes on takes longer.
TEST_F(NodeTest, ALeaderAppendsByEtcdsLeader) {
  std::vector<size_t> preferred;
  world_.wrap = [&preferred](std::unique_ptr<etcd::Client> real) {
    return std::make_unique<MemberClient>(std::move(real), preferred);
  };
  const auto a = start_leader("a", disk_a_);
  run_for(second);
  EXPECT_THAT(preferred, ElementsAre(0));
  preferred.clear();
  etcd_.elect();
  run_for(6 * second);
  EXPECT_THAT(preferred, Contains(1));
  const auto b = start("b", disk_b_);
  preferred.clear();
  run_for(4 * second);
  EXPECT_THAT(preferred, Not(Contains(0))) << "a standby asks whom it likes";
}

TEST_F(NodeTest, AFullEtcdOnlyDelays) {
  const auto a = start_leader("a", disk_a_);
  run_for(second);
  etcd_.set_full(true);
  run_for(2 * second);
  const size_t before = acknowledged_.size();
  run_for(2 * second);
  EXPECT_EQ(acknowledged_.size(), before);
  etcd_.set_full(false);
  run_for(2 * second);
  EXPECT_TRUE(a->leads());
  EXPECT_GT(acknowledged_.size(), before + 100);
  expect_all(disk_a_);
}

TEST_F(NodeTest, AnEntryThatSomebodyDeletesEndsTheLead) {
  const auto a = start_leader("a", disk_a_);
  run_for(second);
  auto& other = time_.add_node();
  const auto client = etcd_.connect(other);
  const Keys keys("jobs");
  etcd::Transaction remove;
  remove.then.emplace_back(etcd::Delete{keys.entries_from(0)});
  client->commit(remove, other.now() + second, [](const auto&) {});
  ASSERT_TRUE(run_until([&] { return a->has_ended(); }, 5 * second));
  EXPECT_THAT(a->lost(), HasSubstr("deleted from etcd"));
}

}  // namespace
}  // namespace perennial::store::cluster
