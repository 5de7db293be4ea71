#pragma once

#include <ostream>

#include "store/types/options.h"

namespace perennial::simulation {

// A mode of durability as the parameter of a test.
struct ModeCase {
  const char* name;
  store::Durability durability;
};

inline void PrintTo(const ModeCase& mode, std::ostream* out) {
  *out << mode.name;
}

}  // namespace perennial::simulation
