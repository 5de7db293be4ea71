#pragma once

#include <ostream>

#include "store/types/options.h"

namespace perennial::simulation {

// A durability mode as a test parameter.
struct ModeCase {
  const char* name;
  store::Durability durability;
};

inline void PrintTo(const ModeCase& mode, std::ostream* out) {
  *out << mode.name;
}

}  // namespace perennial::simulation
