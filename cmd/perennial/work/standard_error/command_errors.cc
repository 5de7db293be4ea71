#include "cmd/perennial/work/standard_error/command_errors.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace perennial::tool::work {
namespace {

// As many bytes as a pipe holds. So a read takes all that is there, and ends where a write of a
// command has ended: a line that was written in one call is passed on in one.
constexpr size_t read_bytes = size_t{64} * 1024;

}  // namespace

void CommandErrors::on_event() {
  if (!inlet_.is_idle()) return inlet_.take_event();
  read(read_bytes);
}

// A process that goes on writing cannot prolong it: only what is there now is read.
std::string CommandErrors::end() {
  int there = 0;
  if (pipe_.fd() >= 0 && ::ioctl(pipe_.fd(), FIONREAD, &there) == 0 && there > 0)
    read(static_cast<size_t>(there));
  pipe_ = common::Socket();
  return tail_.text();
}

void CommandErrors::read(size_t bytes_max) {
  std::string bytes(bytes_max, '\0');
  const ssize_t count = ::read(pipe_.fd(), bytes.data(), bytes.size());
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (count <= 0) {
    pipe_ = common::Socket();
    return;
  }
  bytes.resize(static_cast<size_t>(count));
  tail_.add(bytes);
  inlet_.give(std::move(bytes));
}

}  // namespace perennial::tool::work
