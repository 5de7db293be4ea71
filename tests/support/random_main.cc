#include <gtest/gtest.h>

#include "tests/support/seed.h"

// The main of binaries with random tests: NAME [--seed N] [GoogleTest's flags]
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  perennial::support::take_seed(argc, argv);
  return RUN_ALL_TESTS();
}
