#pragma once

#include <cstdio>
#include <cstdlib>

// Stops the process when an invariant of ours does not hold. On in every build: a queue that is
// wrong about itself must not go on answering. One condition per CHECK, so that the message names
// it.
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
