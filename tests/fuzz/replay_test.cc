// Replays every input of the corpora in every build.

#include <algorithm>
#include <cstdio>
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

void run(const Target& target, const fs::path& path) {
  // A failure ends the process, so the last printed name is that of the input.
  std::printf("%s\n", path.c_str());
  std::fflush(stdout);
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good());
  target.run(std::string(std::istreambuf_iterator<char>(file), {}));
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
