// A library to preload (LD_PRELOAD) under a server: each sync of a file takes SLOW_SYNC_MS
// milliseconds longer; with SLOW_SYNC_IF only while the file of that name exists.

#include <cstdlib>

#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

namespace {

void wait_a_while() {
  const char* const delay_ms = ::getenv("SLOW_SYNC_MS");
  const char* const condition = ::getenv("SLOW_SYNC_IF");
  if (delay_ms == nullptr || (condition != nullptr && ::access(condition, F_OK) != 0)) return;
  const long left_ms = std::strtol(delay_ms, nullptr, 10);
  timespec left = {.tv_sec = left_ms / 1000, .tv_nsec = left_ms % 1000 * 1'000'000};
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
