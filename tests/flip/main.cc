#include <gtest/gtest.h>

#include "tests/flip/positions.h"
#include "tests/support/seed.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  perennial::support::take_seed(argc, argv);
  perennial::store::positions() =
      perennial::support::take_number(argc, argv, "--positions", perennial::store::positions());
  perennial::store::runs() =
      perennial::support::take_number(argc, argv, "--runs", perennial::store::runs());
  return RUN_ALL_TESTS();
}
