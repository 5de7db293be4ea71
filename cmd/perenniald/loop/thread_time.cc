#include "cmd/perenniald/loop/thread_time.h"

#include <ctime>

namespace perennial::perenniald {

Nanos thread_cpu_time(pthread_t thread) {
  clockid_t clock = 0;
  timespec used = {};
  if (::pthread_getcpuclockid(thread, &clock) != 0) return 0;
  if (::clock_gettime(clock, &used) != 0) return 0;
  return used.tv_sec * nanos_per_second + used.tv_nsec;
}

}  // namespace perennial::perenniald
