#include "cmd/common/standard_streams.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace perennial::common {
namespace {

bool output_was_closed = false;

// Before the constructors of shared libraries: that of gRPC opens an eventfd.
__attribute__((section(".preinit_array"), used)) void (*const before_all)() = open_standard_streams;

}  // namespace

// open() takes the lowest number that is free, so that the three are filled in their order.
void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    // Whoever reads nothing of a result has not got it: as with other programs that is a failure.
    if (fd == STDOUT_FILENO) {
      output_was_closed = true;
      if (::open("/dev/full", O_WRONLY) == fd) continue;
    }
    // Without a /dev/null nothing can be done, and nothing needs to be said.
    (void)::open("/dev/null", O_RDWR);
  }
}

Status close_standard_output() {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  const bool failed = std::fclose(stdout) != 0;
  const int error = errno;
  if (!failed && !failed_before) return {};
  const StatusCode code = error == ENOSPC ? StatusCode::NoSpace : StatusCode::Io;
  if (output_was_closed) return {StatusCode::Io, "write the output: standard output is closed"};
  // The number of a failure in an earlier write is no longer known.
  return {code, std::string("write the output: ") +
                    (failed ? std::strerror(error) : "some of it could not be written")};
}

}  // namespace perennial::common
