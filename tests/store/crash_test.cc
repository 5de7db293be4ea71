#include <random>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/store/lives.h"
#include "tests/store/store_model.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// P1, P2, P3: a store ends at a random moment, and the next start finds everything that was
// answered.
namespace perennial::store {
namespace {

enum class End : uint8_t { PowerCut, Kill };

struct CrashCase {
  const char* name;
  Durability durability;
  End end;
};

void PrintTo(const CrashCase& crash, std::ostream* out) {
  *out << crash.name;
}

class Crash : public testing::TestWithParam<CrashCase> {};

void plan(support::FaultFs& fs, End end, uint64_t calls) {
  if (end == End::PowerCut) {
    fs.before_nth(calls, [&fs] { fs.lose_power(); });
  } else {
    fs.before_nth(calls, [] { ::_exit(0); });
  }
}

TEST_P(Crash, KeepsWhatWasAnswered) {
  std::mt19937_64 random(support::seed());
  for (int queue = 0; queue < 3; ++queue) {
    const TempDir dir;
    StoreModel model(random());
    for (int crash = 0; crash < 8; ++crash) {
      const uint64_t calls = random() % 600;
      const Life life = {.data_dir = dir.data_dir(),
                         .durability = GetParam().durability,
                         .batches = 200,
                         .plan = [&](support::FaultFs& fs) { plan(fs, GetParam().end, calls); }};
      const ChildEnd end = live(life, model);
      const Found found = examine(dir.data_dir(), model);
      ASSERT_EQ(judge(life, end, found, model), "")
          << "queue " << queue << " crash " << crash << " at call " << calls;
    }
    ASSERT_GT(model.index(), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Store, Crash,
    testing::Values(CrashCase{"CommitPowerCut", Durability::Commit, End::PowerCut},
                    CrashCase{"CommitKill", Durability::Commit, End::Kill},
                    CrashCase{"IntervalPowerCut", Durability::Interval, End::PowerCut},
                    CrashCase{"IntervalKill", Durability::Interval, End::Kill},
                    CrashCase{"NeverPowerCut", Durability::Never, End::PowerCut}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace perennial::store
