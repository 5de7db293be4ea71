#pragma once

#include <chrono>

#include "engine/types/basic.h"

namespace perennial::tool {

// Nanoseconds since 1970, the unit of rows on disk.
inline Nanos wall_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

}  // namespace perennial::tool
