// Runs every input that fuzzers have left in the corpora, in every build.

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
  // What fails ends the process: the last name is that of the input.
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

// Out of the archive of the target.
TEST_P(Corpus, EveryInputThatWasFoundKeepsThePromises) {
  run_all(GetParam(), FOUND_DIR);
}

// Small inputs that every target must stand.
TEST_P(Corpus, AndSoDoTheSmallest) {
  for (size_t size = 0; size < 3; ++size) {
    for (const char fill : {'\0', 'a', '\n', '\xff'}) GetParam().run(std::string(size, fill));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Corpus, testing::ValuesIn(targets),
                         [](const auto& target) { return std::string(target.param.name); });

}  // namespace
}  // namespace perennial::fuzz
