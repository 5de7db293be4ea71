#include <gtest/gtest.h>

#include "tests/oracle/options.h"
#include "tests/support/seed.h"

// Compares perenniald with Debian's beanstalkd 1.12, reply by reply.
//
//   BEANSTALKD=/path/to/beanstalkd [PERENNIALD=/path/to/perenniald]
//       oracle_test [--seed N] [--commands N] [GoogleTest's flags]
//
// Without these they are looked for beside this program, where the build and tests/run put them.
// The same seed gives the same commands again.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  perennial::support::take_seed(argc, argv);
  perennial::oracle::commands() = perennial::support::take_number(
      argc, argv, "--commands", perennial::oracle::commands_default);
  return RUN_ALL_TESTS();
}
