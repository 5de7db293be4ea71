#pragma once

#include <pthread.h>

#include "engine/types/basic.h"

namespace perennial::perenniald {

// The processor time that a thread, which has not been joined, has used; 0 if the kernel does not
// say.
Nanos thread_cpu_time(pthread_t thread);

}  // namespace perennial::perenniald
