#include <gtest/gtest.h>

#include "tests/flip/positions.h"
#include "tests/support/seed.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  perennial::support::take_seed(argc, argv);
  perennial::store::positions() =
      perennial::support::take_number(argc, argv, "--positions", perennial::store::positions());
  return RUN_ALL_TESTS();
}
