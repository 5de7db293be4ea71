#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string_view>

namespace perennial::support {

// The value after `name` on the command line, or `otherwise`.
inline uint64_t take_number(int argc, char** argv, std::string_view name, uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == name) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

// The seed of all random tests of a binary.
inline uint64_t& seed() {
  static uint64_t value = std::random_device{}();
  return value;
}

// For main(): --seed N sets the seed, otherwise it is drawn. Prints it, so that a failure can be
// repeated.
inline void take_seed(int argc, char** argv) {
  seed() = take_number(argc, argv, "--seed", seed());
  std::cout << "seed " << seed() << " (run again with --seed " << seed() << ")\n";
}

}  // namespace perennial::support
