#pragma once

#include "engine/types/basic.h"

namespace perennial::bench {

// Monotonic; the same for all processes of this machine.
Nanos now_nanos();

// What this process has taken of a processor so far, in user and in system mode.
Nanos own_cpu_time();

}  // namespace perennial::bench
