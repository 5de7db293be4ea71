// Loaded before the libraries of a program (LD_PRELOAD), it shifts the wall clock of the program's
// C++ code by SHIFT_CLOCK_S seconds: what std::chrono::system_clock says. Every other caller gets
// the true time. So a wait until a time of day ends when it should, in RocksDB and in gRPC, which a
// clock that is shifted for all of a process does not give.

#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

bool is_of_standard_library(const void* address) {
  Dl_info found{};
  return dladdr(address, &found) != 0 && found.dli_fname != nullptr &&
         std::strstr(found.dli_fname, "/libstdc++.so") != nullptr;
}

time_t shift_seconds() {
  static const char* const text = std::getenv("SHIFT_CLOCK_S");
  return text == nullptr ? 0 : std::atol(text);
}

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  const auto result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (result == 0 && clock == CLOCK_REALTIME &&
      is_of_standard_library(__builtin_return_address(0))) {
    time->tv_sec += shift_seconds();
  }
  return result;
}
