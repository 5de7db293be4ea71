#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "tests/store/seed.h"

// store_test [--seed N] [GoogleTest's flags]
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], "--seed") == 0) perennial::store::seed() = std::stoull(argv[i + 1]);
  }
  return RUN_ALL_TESTS();
}
