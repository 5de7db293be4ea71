#pragma once

#include <cstdint>

namespace perennial::oracle {

inline constexpr uint64_t commands_default = 20'000;

// The number of random commands to compare, which --commands sets.
inline uint64_t& commands() {
  static uint64_t value = commands_default;
  return value;
}

}  // namespace perennial::oracle
