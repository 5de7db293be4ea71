#include <algorithm>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/overload/sizes.h"
#include "tests/support/seed.h"

namespace {

// Raises the limit of descriptors, which the server inherits. Thousands of clients need thousands
// of them in both processes.
void raise_descriptors() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  using perennial::support::take_number;
  perennial::overload::Sizes& sizes = perennial::overload::sizes();
  sizes.connections = take_number(argc, argv, "--connections", sizes.connections);
  sizes.body_bytes = take_number(argc, argv, "--body-bytes", sizes.body_bytes);
  sizes.moved = take_number(argc, argv, "--moved", sizes.moved);
  sizes.reserved = take_number(argc, argv, "--reserved", sizes.reserved);
  sizes.puts = take_number(argc, argv, "--puts", sizes.puts);
  sizes.tubes = take_number(argc, argv, "--tubes", sizes.tubes);
  raise_descriptors();
  return RUN_ALL_TESTS();
}
