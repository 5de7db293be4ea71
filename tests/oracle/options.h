#pragma once

#include <cstdint>

namespace perennial::oracle {

inline constexpr uint64_t commands_default = 20'000;

// How many random commands are compared; --commands sets it.
inline uint64_t& commands() {
  static uint64_t value = commands_default;
  return value;
}

}  // namespace perennial::oracle
