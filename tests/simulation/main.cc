// Simulations of a server that ends badly again and again.
//
//   simulation_test [--seed N] [--runs N | --seconds N] [GoogleTest's flags]
//
// A run follows from its own seed, which a failure prints: --seed N --runs 1 repeats it.

#include <gtest/gtest.h>

#include "tests/simulation/settings.h"
#include "tests/support/seed.h"

namespace perennial::simulation {

Settings& settings() {
  static Settings value;
  return value;
}

}  // namespace perennial::simulation

int main(int argc, char** argv) {
  using perennial::support::take_number;
  testing::InitGoogleTest(&argc, argv);
  perennial::support::take_seed(argc, argv);
  perennial::simulation::Settings& settings = perennial::simulation::settings();
  settings.runs = take_number(argc, argv, "--runs", settings.runs);
  settings.model_seconds = take_number(argc, argv, "--seconds", settings.model_seconds);
  settings.store_seconds = take_number(argc, argv, "--seconds", settings.store_seconds);
  return RUN_ALL_TESTS();
}
