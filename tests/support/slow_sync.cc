// A library for LD_PRELOAD. Each sync of a file takes at least SLOW_SYNC_US microseconds longer;
// with SLOW_SYNC_IF only while the file of that name exists.

#include <cstdlib>

#include <dlfcn.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

namespace {

void wait_a_while() {
  const char* const delay_us = ::getenv("SLOW_SYNC_US");
  const char* const condition = ::getenv("SLOW_SYNC_IF");
  if (delay_us == nullptr || (condition != nullptr && ::access(condition, F_OK) != 0)) return;
  const long left_us = std::strtol(delay_us, nullptr, 10);
  if (left_us <= 0) return;
  timespec left = {.tv_sec = left_us / 1'000'000, .tv_nsec = left_us % 1'000'000 * 1000};
  // For this thread. With the default slack a sleep takes 50 us longer.
  ::prctl(PR_SET_TIMERSLACK, 1);
  while (::nanosleep(&left, &left) != 0) {
  }
}

int sync_slowly(const char* name, int file) {
  wait_a_while();
  using Sync = int (*)(int);
  return reinterpret_cast<Sync>(::dlsym(RTLD_NEXT, name))(file);
}

}  // namespace

extern "C" int fsync(int file) {
  return sync_slowly("fsync", file);
}

extern "C" int fdatasync(int file) {
  return sync_slowly("fdatasync", file);
}
