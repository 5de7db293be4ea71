#include "cmd/perenniald/core/memory_budget.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cmd/perenniald/core/shared_bodies.h"

namespace perennial::core {
namespace {

using Charge = MemoryBudget::Charge;

TEST(MemoryBudget, SumsUpChargesAndTheirReturn) {
  MemoryBudget budget({});
  Charge first(budget, {.memory = 10, .answers = 5});
  {
    Charge second(budget, {.memory = 1, .large = 1});
    EXPECT_EQ(budget.used(), (MemoryUse{.memory = 11, .answers = 5, .large = 1}));
    second.set({.memory = 7});
    EXPECT_EQ(budget.used(), (MemoryUse{.memory = 17, .answers = 5}));
  }
  EXPECT_EQ(budget.used(), (MemoryUse{.memory = 10, .answers = 5}));
}

TEST(MemoryBudget, AMovedChargeIsGivenBackOnce) {
  MemoryBudget budget({});
  std::vector<Charge> charges;
  for (int i = 0; i < 10; ++i) charges.emplace_back(budget, MemoryUse{.memory = 1});
  Charge taken = std::move(charges[3]);
  EXPECT_EQ(budget.used().memory, 10u);
  charges.clear();
  EXPECT_EQ(budget.used().memory, 1u);
  taken = Charge();
  EXPECT_EQ(budget.used().memory, 0u);
  Charge().set({.memory = 5});  // Without a budget.
}

TEST(MemoryBudget, ReportsTheMemoryLeft) {
  EXPECT_EQ(MemoryBudget({}).memory_left(1'000), SIZE_MAX);
  MemoryBudget budget({.memory_bytes_max = 100});
  const Charge charge(budget, {.memory = 60});
  EXPECT_EQ(budget.memory_left(30), 10u);
  EXPECT_EQ(budget.memory_left(40), 0u);
  EXPECT_EQ(budget.memory_left(41), 0u);
}

TEST(MemoryBudget, AnswersAreScarcePastTheirLimit) {
  MemoryBudget budget({.answers_bytes_max = 100});
  Charge charge(budget, {.answers = 100});
  EXPECT_FALSE(budget.answers_are_scarce());
  charge.set({.answers = 101});
  EXPECT_TRUE(budget.answers_are_scarce());
}

struct AdmitsCase {
  const char* name;
  MemoryUse used;
  size_t bytes;
  bool admitted;
};

class Admits : public testing::TestWithParam<AdmitsCase> {};

TEST_P(Admits, ALargeAnswer) {
  MemoryBudget budget({.memory_bytes_max = 1'000, .answers_bytes_max = 500});
  const Charge charge(budget, GetParam().used);
  EXPECT_EQ(budget.admits(GetParam().bytes, 100), GetParam().admitted);
}

constexpr AdmitsCase admits_cases[] = {
    {"AtTheLimitOfAnswers", {.memory = 300, .answers = 300, .large = 300}, 200, true},
    {"OnePastTheLimitOfAnswers", {.memory = 300, .answers = 300, .large = 300}, 201, false},
    {"AtTheLimitOfMemory", {.memory = 700, .answers = 300, .large = 300}, 200, true},
    {"OnePastTheLimitOfMemory", {.memory = 701, .answers = 300, .large = 300}, 200, false},
    {"PastBothIfThereIsNoOther", {.memory = 2'000, .answers = 2'000}, 10'000, true},
};

INSTANTIATE_TEST_SUITE_P(MemoryBudget, Admits, testing::ValuesIn(admits_cases),
                         [](const auto& tested) { return tested.param.name; });

// ---- Bodies that answers share.

class SharedBodiesTest : public testing::Test {
 protected:
  static Body body(size_t bytes) { return Body(std::string(bytes, 'x')); }

  MemoryBudget budget_{{}};
  SharedBodies shared_bodies_{budget_, 1'000};
};

TEST_F(SharedBodiesTest, AreCountedOnceHoweverManyAnswersShareThem) {
  EXPECT_FALSE(shared_bodies_.find(7));
  SharedBodies::SharedBody first = shared_bodies_.share(7, body(1'001), false);
  EXPECT_EQ(budget_.used(), (MemoryUse{.memory = 1'001, .answers = 1'001, .large = 1'001}));
  SharedBodies::SharedBody second = shared_bodies_.find(7);
  ASSERT_TRUE(second);
  EXPECT_EQ(second.body().view().data(), first.body().view().data());
  EXPECT_EQ(budget_.used().memory, 1'001u);
  first = {};
  EXPECT_TRUE(shared_bodies_.is_shared_now(7));
  EXPECT_EQ(budget_.used(), shared_bodies_.use());
  second = {};
  EXPECT_FALSE(shared_bodies_.is_shared_now(7));
  EXPECT_EQ(budget_.used(), MemoryUse{});
}

TEST_F(SharedBodiesTest, UpToTheLimitAreNoLargeAnswers) {
  const SharedBodies::SharedBody shared = shared_bodies_.share(7, body(1'000), false);
  EXPECT_EQ(budget_.used(), (MemoryUse{.memory = 1'000, .answers = 1'000}));
}

TEST_F(SharedBodiesTest, InTheCacheCountTheirMemoryWhenTheCacheDropsThem) {
  const SharedBodies::SharedBody shared = shared_bodies_.share(7, body(10), true);
  EXPECT_EQ(budget_.used(), (MemoryUse{.answers = 10}));
  shared_bodies_.on_uncached(8);
  EXPECT_EQ(budget_.used().memory, 0u);
  shared_bodies_.on_uncached(7);
  EXPECT_EQ(budget_.used(), (MemoryUse{.memory = 10, .answers = 10}));
}

TEST_F(SharedBodiesTest, OfTextsAreFoundByNoOtherAnswer) {
  const SharedBodies::SharedBody first = shared_bodies_.share_text(body(2'000));
  {
    const SharedBodies::SharedBody second = shared_bodies_.share_text(body(10));
    EXPECT_EQ(budget_.used(), (MemoryUse{.memory = 2'010, .answers = 2'010, .large = 2'000}));
    EXPECT_EQ(budget_.used(), shared_bodies_.use());
  }
  EXPECT_EQ(budget_.used(), shared_bodies_.use());
  EXPECT_EQ(budget_.used().memory, 2'000u);
}

}  // namespace
}  // namespace perennial::core
