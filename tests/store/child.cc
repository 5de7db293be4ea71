#include "tests/store/child.h"

#include <array>
#include <cstdio>

#include <sys/wait.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::store {

void Pipe::send_bytes(const void* bytes, size_t count) const {
  CHECK(::write(file_, bytes, count) == static_cast<ssize_t>(count));
}

ChildEnd run_child(const std::function<void(const Pipe&)>& body) {
  std::array<int, 2> ends = {};
  CHECK(::pipe(ends.data()) == 0);
  std::fflush(nullptr);  // Without this the child would print buffered text again.
  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    ::close(ends[0]);
    body(Pipe(ends[1]));
    ::_exit(0);
  }
  ::close(ends[1]);
  ChildEnd end;
  std::array<char, 4096> bytes = {};
  for (ssize_t count = 0; (count = ::read(ends[0], bytes.data(), bytes.size())) > 0;) {
    end.sent.append(bytes.data(), static_cast<size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  return end;
}

}  // namespace perennial::store
