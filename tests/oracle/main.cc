#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "tests/oracle/options.h"

// Compares perenniald with Debian's beanstalkd 1.12, reply by reply.
//
//   BEANSTALKD=/path/to/beanstalkd [PERENNIALD=/path/to/perenniald]
//       oracle_test [--seed N] [--commands N] [GoogleTest's flags]
//
// Without PERENNIALD it is looked for beside this program. A failure of the random part prints its
// seed; the same seed gives the same commands again.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seed") == 0) {
      perennial::oracle::options().seed = std::stoull(argv[i + 1]);
    } else if (std::strcmp(argv[i], "--commands") == 0) {
      perennial::oracle::options().commands = std::stoull(argv[i + 1]);
    }
  }
  return RUN_ALL_TESTS();
}
