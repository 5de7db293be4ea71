#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/store/cluster/random_cluster.h"
#include "tests/support/etcd_client_wrapper.h"
#include "tests/support/seed.h"

// Random clusters keep the laws, and break them when a bug is planted.
namespace perennial::store::cluster {
namespace {

constexpr Nanos second = nanos_per_second;

TEST(NodeRandom, NothingAcknowledgedIsLostAndAllNodesAreEqual) {
  for (uint64_t i = 0; i < 10; ++i) {
    const uint64_t seed = support::seed() + i;
    SCOPED_TRACE(fmt::format("--seed {}", seed));
    RandomCluster cluster(seed);
    ASSERT_EQ(cluster.run(120 * second), "");
    ASSERT_EQ(cluster.catch_up(), "");
    // What is tested has happened.
    EXPECT_GT(cluster.acknowledged(), 1000U);
    EXPECT_GT(cluster.epoch(), 2U);
  }
}

TEST(NodeRandom, OneNodeAtATimeHandsOutReservations) {
  for (uint64_t i = 0; i < 10; ++i) {
    const uint64_t seed = support::seed() + i;
    SCOPED_TRACE(fmt::format("--seed {}", seed));
    RandomCluster cluster(seed, {}, RandomCluster::Leases::Hold);
    ASSERT_EQ(cluster.run(120 * second), "");
    ASSERT_EQ(cluster.catch_up(), "");
    EXPECT_GT(cluster.acknowledged(), 1000U);
    EXPECT_GT(cluster.epoch(), 2U);
  }
}

// With this seed a node stands still after its election until another one leads and has written.
TEST(NodeRandom, AnElectionThatIsLearntTooLateHarmsNobody) {
  RandomCluster cluster(882911141, {}, RandomCluster::Leases::Hold);
  ASSERT_EQ(cluster.run(120 * second), "");
  ASSERT_EQ(cluster.catch_up(), "");
}

// A client that changes what a node sends, or what it is told.
class BrokenClient final : public support::EtcdClientWrapper {
 public:
  enum class Bug : uint8_t {
    NoLeaderCompared,    // Appends without the comparison of the leader's key.
    NoIndexCompared,     // Appends without the comparison of the entry's key.
    UnknownIsCommitted,  // Takes an append without an answer for done.
    TailNotRead,         // After an election the log seems to have ended before.
  };

  BrokenClient(std::unique_ptr<etcd::Client> real, Bug bug)
      : EtcdClientWrapper(std::move(real)), bug_(bug) {}

  void get(etcd::Get request, Nanos deadline, etcd::Done<etcd::Found> done) override {
    const bool is_tail = was_elected_ && request.range.key.find("/log/") != std::string::npos;
    if (bug_ == Bug::TailNotRead && is_tail) {
      request.range = {.key = request.range.key + "-none"};  // Nothing behind what was read.
    }
    EtcdClientWrapper::get(std::move(request), deadline, std::move(done));
  }

  void commit(etcd::Transaction transaction, Nanos deadline,
              etcd::Done<etcd::TransactionDone> done) override {
    const bool is_append = puts(transaction, "/log/");
    const bool is_election = puts(transaction, "/leader");
    if (is_append) {
      std::erase_if(transaction.conditions, [this](const etcd::Compare& condition) {
        const bool is_leader = condition.key.ends_with("/leader");
        return (bug_ == Bug::NoLeaderCompared && is_leader) ||
               (bug_ == Bug::NoIndexCompared && !is_leader &&
                condition.is == etcd::Compare::Is::Equal);
      });
    }
    EtcdClientWrapper::commit(
        std::move(transaction), deadline,
        [this, is_append, is_election, done = std::move(done)](auto outcome) {
          const auto* answer = std::get_if<etcd::TransactionDone>(&outcome);
          was_elected_ = was_elected_ || (is_election && answer != nullptr && answer->held);
          const bool lies = bug_ == Bug::UnknownIsCommitted && is_append && answer == nullptr;
          if (lies) return done(etcd::TransactionDone{.held = true, .revision = 1, .gets = {}});
          done(std::move(outcome));
        });
  }

 private:
  static bool puts(const etcd::Transaction& transaction, std::string_view part) {
    for (const etcd::Operation& operation : transaction.then) {
      const auto* put = std::get_if<etcd::Put>(&operation);
      if (put != nullptr && put->key.find(part) != std::string::npos) return true;
    }
    return false;
  }

  const Bug bug_;
  bool was_elected_ = false;
};

struct Planted {
  std::string name;
  SimulatedNode::Plant node = SimulatedNode::Plant::None;
  std::optional<BrokenClient::Bug> client = {};
  RandomCluster::Leases leases = RandomCluster::Leases::Break;
};

class PlantedBugTest : public testing::TestWithParam<Planted> {};

TEST_P(PlantedBugTest, IsCaught) {
  RandomCluster::Plants plants = {.node = GetParam().node};
  if (GetParam().client) {
    plants.wrap = [bug = *GetParam().client](std::unique_ptr<etcd::Client> real) {
      return std::make_unique<BrokenClient>(std::move(real), bug);
    };
  }
  for (uint64_t i = 0; i < 60; ++i) {
    RandomCluster cluster(support::seed() + i, plants, GetParam().leases);
    std::string broken = cluster.run(60 * second);
    if (broken.empty()) broken = cluster.catch_up();
    if (broken.empty()) continue;
    std::cout << "caught with seed " << i << " of this run: " << broken << '\n';
    return;
  }
  FAIL() << "no seed has caught it";
}

INSTANTIATE_TEST_SUITE_P(
    Bugs, PlantedBugTest,
    testing::Values(Planted{"NoLeaderCompared", {}, BrokenClient::Bug::NoLeaderCompared},
                    Planted{"NoIndexCompared", {}, BrokenClient::Bug::NoIndexCompared},
                    Planted{"UnknownIsCommitted", {}, BrokenClient::Bug::UnknownIsCommitted},
                    Planted{"AnswersBeforeTheCommit", SimulatedNode::Plant::AnswersBeforeTheCommit},
                    Planted{"SkipsAnEntry", SimulatedNode::Plant::SkipsAnEntry},
                    Planted{"TailNotRead", {}, BrokenClient::Bug::TailNotRead},
                    Planted{"TrimsAtOneCopy", SimulatedNode::Plant::TrimsAtOneCopy},
                    Planted{"LeaseNotLookedAt",
                            SimulatedNode::Plant::LeaseNotLookedAt,
                            {},
                            RandomCluster::Leases::Hold}),
    [](const auto& bug) { return bug.param.name; });

}  // namespace
}  // namespace perennial::store::cluster
