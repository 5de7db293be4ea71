#pragma once

#include "engine/types/basic.h"

namespace perennial::bench {

// The monotonic clock, which is the same for all processes of this machine.
Nanos now_nanos();

// The processor time of this process so far, in user and in system mode.
Nanos own_cpu_time();

}  // namespace perennial::bench
