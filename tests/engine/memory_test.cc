// The memory that the engine reports follows the number of jobs and of watched tubes.

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "engine/tables/tube.h"

namespace perennial::engine {
namespace {

constexpr Nanos now = 1'700'000'000 * nanos_per_second;

// Returns the reported memory of an engine with `jobs` buried jobs, whose ids are `spacing` apart.
size_t bytes_with(uint64_t jobs, JobId spacing) {
  Engine engine((Limits()));
  EXPECT_TRUE(engine.restore_tube(0, "default").ok());
  for (uint64_t i = 1; i <= jobs; ++i) {
    const JobRow row = {
        .id = i * spacing, .state = JobState::Buried, .ttr_s = 60, .order = i, .body_bytes = 1};
    EXPECT_TRUE(engine.restore_job(row, now).ok());
  }
  return engine.view().memory_bytes();
}

TEST(EngineMemory, IsAtMost200BytesAJobForAnyDistanceOfTheIds) {
  constexpr uint64_t jobs = 200'000;
  const size_t dense = bytes_with(jobs, 1);
  EXPECT_LE(dense, jobs * 120);
  for (const JobId spacing : {16u, 256u, 65'536u}) {
    const size_t sparse = bytes_with(jobs, spacing);
    EXPECT_LE(sparse, jobs * 200) << spacing;
    EXPECT_GT(sparse, dense + jobs) << spacing;  // The pages of the map of ids are counted.
  }
}

class WatchListMemory : public testing::Test {
 protected:
  WatchListMemory() { apply(Opened{}); }
  void apply(Event event) {
    output_.clear();
    engine_.apply({.now = now, .conn = 1, .event = std::move(event)}, output_);
    engine_.check();
  }
  static std::string tube(int i) { return "tube-" + std::to_string(i); }
  void watch(int count) {
    for (int i = 0; i < count; ++i) apply(Command{Watch{tube(i)}});
  }

  static constexpr int tubes_count = 300;
  Engine engine_{Limits()};
  Output output_;
};

TEST_F(WatchListMemory, IsCountedUntilTheTubesAreIgnored) {
  const size_t before = engine_.view().memory_bytes();
  for (int i = 0; i < tubes_count; ++i) {
    apply(Command{Use{tube(i)}});
    apply(Command{Put{0, 0, 60, 1}});
  }
  const size_t tubes = engine_.view().memory_bytes() - before;
  watch(tubes_count);
  EXPECT_GE(engine_.view().memory_bytes(), before + tubes + tubes_count * sizeof(WatchLink));
  for (int i = 0; i < tubes_count; ++i) apply(Command{Ignore{tube(i)}});
  EXPECT_LE(engine_.view().memory_bytes(), before + tubes + 8 * sizeof(WatchLink));
}

TEST_F(WatchListMemory, IsCountedUntilTheConnectionCloses) {
  watch(tubes_count);
  EXPECT_GE(engine_.view().memory_bytes(), tubes_count * sizeof(WatchLink));
  apply(Closed{});
  EXPECT_EQ(engine_.view().memory_bytes(), Engine(Limits()).view().memory_bytes());
}

}  // namespace
}  // namespace perennial::engine
