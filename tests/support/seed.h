#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string_view>

namespace perennial::support {

// The seed of a random test: --seed N on the command line, else drawn. Printed, so that a failure
// can be run again.
inline uint64_t take_seed(int argc, char** argv) {
  uint64_t seed = std::random_device{}();
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == "--seed") seed = std::strtoull(argv[i + 1], nullptr, 10);
  }
  std::cout << "seed " << seed << " (run again with --seed " << seed << ")\n";
  return seed;
}

// The value behind `name` on the command line, or `otherwise`.
inline uint64_t take_number(int argc, char** argv, std::string_view name, uint64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view(argv[i]) == name) return std::strtoull(argv[i + 1], nullptr, 10);
  }
  return otherwise;
}

}  // namespace perennial::support
