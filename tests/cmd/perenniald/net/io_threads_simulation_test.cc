// The queues between the loop and the threads that move bytes, played from a seed:
// io_threads_simulation.h.
#include "tests/cmd/perenniald/net/io_threads_simulation.h"

#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/long_form.h"
#include "tests/support/seed.h"

namespace perennial::perenniald {
namespace {

TEST(IoThreadsSimulation, NothingIsLostAndNobodyOversleeps) {
  const uint64_t runs = support::by_form<uint64_t>(100, 5'000);
  for (uint64_t run = 0; run < runs; ++run) {
    SCOPED_TRACE(support::seed() + run);
    std::mt19937_64 random(support::seed() + run);
    perenniald::IoThreadsSimulation([&](uint64_t below) { return random() % below; }).run(2'000);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace perennial::perenniald
