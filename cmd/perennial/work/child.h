#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/types.h>

#include "cmd/common/socket.h"
#include "engine/types/status.h"

namespace perennial::tool::work {

struct ChildSetup {
  std::vector<std::string> command;      // The program, found in PATH, and its arguments.
  std::vector<std::string> environment;  // NAME=VALUE, added to the worker's own.
  std::string_view input;                // What it reads from standard input.
  sigset_t signals;                      // The signals that are blocked in it.
  bool has_error_pipe = false;           // Its standard error is a pipe, else the worker's.
};

// A command that runs as a child process, in a process group of its own, so that a signal reaches
// its children, too. Standard output is the worker's. Killed and reaped at the latest when this
// object goes, or when this process dies: the kernel kills it then, though not its own children.
// REQUIRES: the thread that starts it reaps it.
class Child {
 public:
  // The failures of a program that cannot be started: see not_started(). Io: the system is
  // short of something.
  static Result<Child> start(const ChildSetup& setup);

  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;
  ~Child();

  // A descriptor that is readable when the command has ended.
  int fd() const { return pidfd_.fd(); }
  // The end for reading of the pipe that is its standard error, which does not block. None without
  // has_error_pipe, and after the first call.
  common::Socket take_error_pipe() { return std::exchange(error_pipe_, common::Socket()); }
  // To the whole group. REQUIRES: not yet reaped.
  void signal(int number) const;

  struct End {
    int status = 0;
    int signal = 0;  // 0: it exited with `status`.
  };
  // REQUIRES: fd() is readable, and this was not called before.
  End reap();

 private:
  Child(pid_t pid, common::Socket pidfd, common::Socket error_pipe)
      : pid_(pid), pidfd_(std::move(pidfd)), error_pipe_(std::move(error_pipe)) {}

  pid_t pid_;  // -1: reaped.
  common::Socket pidfd_;
  common::Socket error_pipe_;
};

}  // namespace perennial::tool::work
