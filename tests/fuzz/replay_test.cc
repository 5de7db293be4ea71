// Replays every input of the corpora in every build.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/fuzz/targets.h"

namespace perennial::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr double seconds_max = 10;

// Without the time in which others have the processor.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

void run(const Target& target, const fs::path& path) {
  // A failure ends the process, so the last printed name is that of the input.
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good());
  const std::string input(std::istreambuf_iterator<char>(file), {});
  const double begun = thread_seconds();
  target.run(input);
  // As the fuzzers' -timeout does: no input of a few kilobytes may cost so much.
  EXPECT_LT(thread_seconds() - begun, seconds_max) << path;
}

class Corpus : public testing::TestWithParam<Target> {};

void run_all(const Target& target, const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder / target.name)) {
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  ASSERT_FALSE(paths.empty());
  for (const fs::path& path : paths) run(target, path);
}

TEST_P(Corpus, EveryNamedInputKeepsThePromises) {
  run_all(GetParam(), CORPUS_DIR);
}

// Inputs from the archive of the target.
TEST_P(Corpus, EveryArchivedInputKeepsThePromises) {
  run_all(GetParam(), FOUND_DIR);
}

// Small inputs that every target must accept.
TEST_P(Corpus, TheSmallestInputsKeepThePromises) {
  for (size_t size = 0; size < 3; ++size) {
    for (const char fill : {'\0', 'a', '\n', '\xff'}) GetParam().run(std::string(size, fill));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Corpus, testing::ValuesIn(targets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace perennial::fuzz
