#include <cstdint>
#include <random>

#include <gtest/gtest.h>

#include "engine/types/check.h"
#include "tests/cmd/perenniald/net/io_threads_simulation.h"
#include "tests/fuzz/choices.h"
#include "tests/fuzz/targets.h"

namespace perennial::fuzz {
namespace {

constexpr int simulated_steps_max = 1'000;

}  // namespace

// The bytes are the choices of tests/cmd/perenniald/net/io_threads_simulation.h. After their end
// the choices are always the same random ones: it has to come to rest.
void io_threads(std::string_view input) {
  Choices choices(input);
  std::minstd_rand random;
  const auto choose = [&](uint64_t below) {
    constexpr size_t bytes_of_large = 3;
    const uint64_t number =
        choices.done() ? random() : choices.number(below <= 256 ? 1 : bytes_of_large);
    return number % below;
  };
  perenniald::IoThreadsSimulation(choose).run(simulated_steps_max, [&] { return choices.done(); });
  CHECK(!testing::Test::HasFailure());
}

}  // namespace perennial::fuzz
