#pragma once

#include <cstdio>
#include <cstdlib>

// Aborts the process when an invariant of this program does not hold. CHECK is active in every
// build, because a queue with a wrong state must not continue to answer. Each CHECK has one
// condition, so that the message names it.
#define CHECK(condition)                                         \
  do {                                                           \
    if (!(condition)) [[unlikely]]                               \
      ::perennial::check_failed(__FILE__, __LINE__, #condition); \
  } while (false)

namespace perennial {

[[noreturn]] inline void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "level=fatal at=%s:%d check_failed=\"%s\"\n", file, line, condition);
  std::abort();
}

}  // namespace perennial
