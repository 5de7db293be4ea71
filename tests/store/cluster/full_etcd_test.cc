#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/node_fixture.h"
#include "tests/store/cluster/simulated_node.h"
#include "tests/support/etcd_client_wrapper.h"

// What a cluster does about an etcd whose quota is used up.
namespace perennial::store::cluster {
namespace {

using support::CallKind;
using support::EtcdModel;

constexpr int64_t quota_bytes = 1'000'000;

class FullEtcd : public NodeTest {
 protected:
  FullEtcd() : NodeTest(EtcdModel::Limits{.quota_bytes = quota_bytes}) {}

  NodeOptions full_options(const std::string& name) {
    NodeOptions made = options(name);
    made.etcd_quota_bytes = quota_bytes;
    return made;
  }
  std::unique_ptr<SimulatedNode> start_node(const std::string& name, SimulatedDisk& disk) {
    return start(full_options(name), disk);
  }
  // Another program writes until etcd takes nothing more.
  void fill() {
    for (int i = 0; !etcd_.model().has_alarm(); ++i) {
      do_as_other(etcd::Put{.key = fmt::format("/other/{}", i), .value = std::string(10'000, 'x')});
    }
  }
  // Deletes are taken all the same.
  void delete_what_filled_it() { do_as_other(etcd::Delete{etcd::keys_with_prefix("/other/")}); }
  void do_as_other(etcd::Operation operation) {
    etcd::Transaction write;
    write.then.push_back(std::move(operation));
    client_->commit(std::move(write), operator_.now() + second, [](const auto&) {});
    run_for(20 * nanos_per_ms);
  }
  size_t acknowledged_within(Nanos time) {
    const size_t before = acknowledged_.size();
    run_for(time);
    return acknowledged_.size() - before;
  }
};

// The leader compacted to what it had written last, and that does not move while etcd takes
// nothing. So what others had deleted stayed, and a defragmentation gave nothing back.
TEST_F(FullEtcd, IsCompactedAndDisarmedByTheLeader) {
  const auto a = start_node("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  a->write_always(true);
  run_for(second);
  fill();
  run_for(second);
  EXPECT_EQ(acknowledged_within(6 * second), 0U);
  EXPECT_EQ(a->puts(), Puts::Refused);
  EXPECT_EQ(a->alarms(), (EtcdAlarms{.no_space = 1, .corrupt = 0}));
  EXPECT_EQ(a->waits(), etcd::CallError::NoSpace);
  delete_what_filled_it();
  const etcd::Revision deleted_at = etcd_.model().revision();
  EXPECT_TRUE(run_until([&] { return etcd_.model().compacted() >= deleted_at; }, 15 * second));
  EXPECT_TRUE(etcd_.model().has_alarm()) << "the file has not shrunk";
  etcd_.defragment();
  EXPECT_TRUE(run_until([&] { return !etcd_.model().has_alarm(); }, 10 * second));
  EXPECT_GT(acknowledged_within(2 * second), 50U);
  EXPECT_EQ(a->puts(), Puts::Accepted);
  EXPECT_EQ(a->alarms(), EtcdAlarms());
  EXPECT_EQ(a->waits(), std::nullopt);
  EXPECT_TRUE(a->leads());
  expect_all(disk_a_);
}

// A new process gets no lease, and a standby cannot be elected. So nobody compacted.
TEST_F(FullEtcd, IsLookedAfterWhileNobodyLeads) {
  auto a = start_node("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  run_for(second);
  fill();
  a->kill();
  a = start_node("a", disk_a_);
  run_for(2 * lease_s * second);
  EXPECT_FALSE(a->leads());
  delete_what_filled_it();
  run_for(15 * second);
  etcd_.defragment();
  EXPECT_TRUE(run_until([&] { return a->leads(); }, 15 * second));
}

TEST_F(FullEtcd, IsLeftToItsOperatorWithoutEtcdCompact) {
  NodeOptions made = full_options("a");
  made.compacts_etcd = false;
  const auto a = start(made, disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  fill();
  delete_what_filled_it();
  run_for(15 * second);
  EXPECT_EQ(etcd_.model().compacted(), 0);
  etcd_.compact(etcd_.model().revision());
  etcd_.defragment();
  run_for(15 * second);
  EXPECT_TRUE(etcd_.model().has_alarm());
  EXPECT_EQ(a->puts(), Puts::Refused);
}

// A member that does not answer may still be full, and a quota may be less than this node thinks.
TEST_F(FullEtcd, IsNotDisarmedBeforeAllMembersHaveSpace) {
  const auto a = start_node("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  fill();
  delete_what_filled_it();
  run_for(15 * second);
  EXPECT_TRUE(etcd_.model().has_alarm());
  for (int round = 0; round < 3; ++round) {
    etcd_.plan(a->process(), CallKind::Status, {.is_answer_lost = true});
    etcd_.plan(a->process(), CallKind::Status, {});
    etcd_.plan(a->process(), CallKind::Status, {});
  }
  etcd_.defragment();
  run_for(14 * second);
  EXPECT_TRUE(etcd_.model().has_alarm());
  EXPECT_TRUE(run_until([&] { return !etcd_.model().has_alarm(); }, 6 * second));
}

// Says that a member holds something else than the others, and notes what is disarmed.
class CorruptClient final : public support::EtcdClientWrapper {
 public:
  CorruptClient(std::unique_ptr<etcd::Client> real, std::vector<etcd::Alarm>& disarmed)
      : EtcdClientWrapper(std::move(real)), disarmed_(disarmed) {}
  void member_status(size_t member, Nanos deadline, etcd::Done<etcd::MemberStatus> done) override {
    EtcdClientWrapper::member_status(
        member, deadline, [done = std::move(done)](etcd::Outcome<etcd::MemberStatus> outcome) {
          if (auto* status = std::get_if<etcd::MemberStatus>(&outcome)) {
            status->alarms = {{.member = 7, .kind = etcd::Alarm::Kind::Corrupt}};
          }
          done(std::move(outcome));
        });
  }
  void disarm(etcd::Alarm alarm, Nanos, etcd::Done<etcd::AlarmDisarmed>) override {
    disarmed_.push_back(alarm);
  }

 private:
  std::vector<etcd::Alarm>& disarmed_;
};

TEST_F(FullEtcd, AnAlarmOfDamageIsToldAndNotDisarmed) {
  std::vector<etcd::Alarm> disarmed;
  world_.wrap = [&disarmed](std::unique_ptr<etcd::Client> real) {
    return std::make_unique<CorruptClient>(std::move(real), disarmed);
  };
  const auto a = start_node("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  run_for(15 * second);
  EXPECT_EQ(a->alarms(), (EtcdAlarms{.no_space = 0, .corrupt = 1}));
  EXPECT_TRUE(disarmed.empty());
}

// What a takeover of etcd's own costs is not reported.
TEST_F(FullEtcd, AppendsThatFailForAMomentAreNotReported) {
  const auto a = start_node("a", disk_a_);
  ASSERT_TRUE(run_until([&] { return a->leads(); }, 30 * second));
  a->write_always(true);
  run_for(second);
  etcd_.lose_majority(support::FakeEtcd::Held::Dropped);
  run_for(4 * second);
  EXPECT_EQ(a->waits(), std::nullopt);
  run_for(3 * second);
  EXPECT_EQ(a->waits(), etcd::CallError::Unknown);
  etcd_.regain_majority();
  run_for(3 * second);
  EXPECT_EQ(a->waits(), std::nullopt);
}

}  // namespace
}  // namespace perennial::store::cluster
