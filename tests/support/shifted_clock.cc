// Loaded before the libraries of a program (LD_PRELOAD), it shifts the wall clock of the program's
// C++ code by SHIFT_CLOCK_S seconds, or by as many as the file SHIFT_CLOCK_FILE says, which may
// change while it runs: what std::chrono::system_clock says. Every other caller gets the true time.
// So a wait until a time of day ends when it should, in RocksDB and in gRPC, which a clock that is
// shifted for all of a process does not give. And it works with AddressSanitizer, whose own
// clock_gettime() comes before that of any library.

#include <chrono>
#include <cstdlib>

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace {

// 0: there is no file yet.
long shift_in(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file == -1) return 0;
  char text[32] = {};
  const ssize_t size = read(file, text, sizeof text - 1);
  close(file);
  return size <= 0 ? 0 : std::atol(text);
}

std::chrono::seconds shift() {
  static const char* const path = std::getenv("SHIFT_CLOCK_FILE");
  if (path != nullptr) return std::chrono::seconds(shift_in(path));
  static const char* const text = std::getenv("SHIFT_CLOCK_S");
  return std::chrono::seconds(text == nullptr ? 0 : std::atol(text));
}

}  // namespace

std::chrono::system_clock::time_point std::chrono::system_clock::now() noexcept {
  timespec time{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &time);
  return time_point(shift() + seconds(time.tv_sec) + nanoseconds(time.tv_nsec));
}
