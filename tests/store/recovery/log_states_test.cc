#include <filesystem>
#include <random>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "store/reader.h"
#include "tests/store/child.h"
#include "tests/store/random_store.h"
#include "tests/store/temp_dir.h"
#include "tests/support/seed.h"

// P1, P9: what the log looks like after any sequence of batches, flushes, compactions and
// checkpoints. The judgement of an undamaged directory is that it is whole, and that of a directory
// without one of its log files is that it is damaged.
namespace perennial::store {
namespace {

namespace fs = std::filesystem;

constexpr int stores = 25;

// Runs in a child. Returns what is wrong with a directory that must have all batches up to `index`.
std::string problem_of(const RandomStore& made, const std::string& path, BatchIndex index) {
  std::string events;
  Events events_to;
  events_to.info = [&](std::string_view at, std::string_view fields) {
    events += fmt::format("{} {}; ", at, fields);
  };
  const auto reader = Reader::open({.path = path, .events = events_to});
  if (!reader.ok()) return reader.status().message();
  if (!events.empty()) return events;
  if ((*reader)->commit().index != index) {
    return fmt::format("commit {}, not {}", (*reader)->commit().index, index);
  }
  return difference(**reader, made.model_at(index).image());
}

std::string in_a_child(const RandomStore& made, const std::string& path, BatchIndex index) {
  const ChildEnd end = run_child([&](const Pipe& pipe) {
    const std::string problem = problem_of(made, path, index);
    if (!problem.empty()) pipe.send_bytes(problem.data(), problem.size());
  });
  return end.signal == 0 ? end.sent : fmt::format("signal {}", end.signal);
}

class LogStates : public testing::Test {
 protected:
  template <typename Check>
  void for_each_store(const Check& check) {
    std::mt19937_64 random(support::seed());
    for (int i = 0; i < stores; ++i) {
      const TempDir dir;
      const uint64_t seed = random();
      SCOPED_TRACE(fmt::format("store {} seed {}", i, seed));
      check(make_random_store(dir.data_dir(), seed), dir.path() + "/copy");
      if (HasFailure()) return;
    }
  }
};

TEST_F(LogStates, AfterAnyKillAndInAnyCheckpointAreWhole) {
  for_each_store([](const RandomStore& made, const std::string& /*copy*/) {
    EXPECT_EQ(in_a_child(made, made.path, made.index), "");
    for (const auto& checkpoint : made.checkpoints) {
      EXPECT_EQ(in_a_child(made, checkpoint.path, checkpoint.index), "") << checkpoint.path;
    }
  });
}

TEST_F(LogStates, WithoutALogFileAreRefusedOrWhole) {
  int refused = 0;
  for_each_store([&](const RandomStore& made, const std::string& copy) {
    for (const std::string& log : logs_of(made.path)) {
      copy_data_dir(made.path, copy);
      fs::remove(copy + "/db/" + fs::path(log).filename().string());
      const std::string problem = in_a_child(made, copy, made.index);
      if (problem.empty()) continue;
      ++refused;
      EXPECT_NE(problem.find("restore a checkpoint"), std::string::npos) << log << ": " << problem;
    }
  });
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace perennial::store
