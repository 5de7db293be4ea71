#include "cmd/perennial-bench/servers/clock.h"

#include <ctime>

#include <sys/resource.h>

namespace perennial::bench {

Nanos now_nanos() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * nanos_per_second + now.tv_nsec;
}

Nanos own_cpu_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const int64_t seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec;
  const int64_t micros = used.ru_utime.tv_usec + used.ru_stime.tv_usec;
  return seconds * nanos_per_second + micros * 1000;
}

}  // namespace perennial::bench
