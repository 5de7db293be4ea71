#include "cmd/perennial/work/child.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/perennial/work/program.h"
#include "engine/types/check.h"

namespace perennial::tool::work {
namespace {

// A file in memory and not a pipe: nobody has to write while the command runs, a command that does
// not read its input stops nothing, and no SIGPIPE comes.
Result<common::Socket> input_file(std::string_view bytes) {
  common::Socket file(::memfd_create("job", MFD_CLOEXEC));
  if (file.fd() < 0) return common::system_error("make the input of the command");
  while (!bytes.empty()) {
    const ssize_t count = ::write(file.fd(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return common::system_error("write the input of the command");
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  if (::lseek(file.fd(), 0, SEEK_SET) != 0)
    return common::system_error("rewind the input of the command");
  return file;
}

struct ErrorPipe {
  common::Socket read;  // Does not block.
  common::Socket write;
};

Result<ErrorPipe> make_error_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return common::system_error("make a pipe for the errors of the command");
  ErrorPipe made{.read = common::Socket(ends[0]), .write = common::Socket(ends[1])};
  // Each end has its own flags: the command's writes block.
  if (::fcntl(made.read.fd(), F_SETFL, O_NONBLOCK) != 0)
    return common::system_error("read the errors of the command");
  return made;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The worker's right to the queue is not that of its commands.
constexpr std::string_view kept_back = "PERENNIAL_TOKEN=";

// The worker's own, without variables of these names, and these.
std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** own = ::environ; *own != nullptr; ++own) {
    const std::string_view variable(*own);
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    bool replaced = name == kept_back;
    for (const std::string& other : added) replaced = replaced || other.starts_with(name);
    if (!replaced) all.emplace_back(variable);
  }
  return all;
}

// A child process up to its exec. Not posix_spawn(), which cannot set the signal that the kernel
// sends when the parent dies.
class Exec {
 public:
  // `errors` is -1 if standard error is to be the worker's.
  Exec(const ChildSetup& setup, int input, int errors)
      : command_(setup.command),
        environment_(environment_with(setup.environment)),
        arguments_(pointers_to(command_)),
        variables_(pointers_to(environment_)),
        signals_(setup.signals),
        input_(input),
        errors_(errors),
        parent_(::getpid()) {}

  // Returns 0 when the program has taken over, or the error's number.
  int run(pid_t& pid) const {
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0) return errno;
    const common::Socket errors(pipe[0]);
    common::Socket to_parent(pipe[1]);
    pid = ::fork();
    if (pid < 0) return errno;
    if (pid == 0) become(to_parent.fd());
    to_parent = common::Socket();
    int error = 0;  // The program closes the pipe, with nothing in it.
    while (::read(errors.fd(), &error, sizeof error) < 0 && errno == EINTR) continue;
    if (error != 0) ::waitpid(pid, nullptr, 0);
    return error;
  }

 private:
  // Other threads may hold any lock now: only system calls may follow.
  [[noreturn]] void become(int to_parent) const {
    ::setpgid(0, 0);
    // Sent when the thread that forked ends, which waits for this process. The parent may have died
    // before.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent_) ::_exit(status_not_found);
    // The worker ignores SIGPIPE, which a pipeline in the command counts on.
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    ::sigaction(SIGPIPE, &by_default, nullptr);
    ::pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
    const bool has_streams =
        ::dup2(input_, STDIN_FILENO) >= 0 && (errors_ < 0 || ::dup2(errors_, STDERR_FILENO) >= 0);
    if (has_streams) ::execvpe(arguments_.front(), arguments_.data(), variables_.data());
    const int error = errno;
    (void)!::write(to_parent, &error, sizeof error);
    ::_exit(status_not_found);
  }

  std::vector<std::string> command_;
  std::vector<std::string> environment_;
  const std::vector<char*> arguments_;  // Point into the two above.
  const std::vector<char*> variables_;
  const sigset_t signals_;
  const int input_;
  const int errors_;
  const pid_t parent_;
};

}  // namespace

Result<Child> Child::start(const ChildSetup& setup) {
  CHECK(!setup.command.empty());
  Result<common::Socket> input = input_file(setup.input);
  if (!input.ok()) return input.take_status();
  Result<ErrorPipe> errors = ErrorPipe();
  if (setup.has_error_pipe) errors = make_error_pipe();
  if (!errors.ok()) return errors.take_status();
  pid_t pid = -1;
  const int error = Exec(setup, input->fd(), errors->write.fd()).run(pid);
  if (error != 0) {
    return not_started(setup.command.front(), error);
  }
  // A system call, because glibc 2.36 declares its function for C only.
  common::Socket pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd.fd() < 0) {
    const Status failed = common::system_error("watch the command");
    // Its end kills the command, which nobody could wait for.
    const Child lost(pid, common::Socket(), common::Socket());
    return failed;
  }
  return Child(pid, std::move(pidfd), std::move(errors->read));
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      pidfd_(std::move(other.pidfd_)),
      error_pipe_(std::move(other.error_pipe_)) {}

Child::~Child() {
  if (pid_ < 0) return;
  signal(SIGKILL);
  reap();
}

// The group's id is the child's. It is given to no other process before the child is reaped.
void Child::signal(int number) const {
  CHECK(pid_ > 0);
  ::kill(-pid_, number);
}

Child::End Child::reap() {
  CHECK(pid_ > 0);
  int status = 0;
  const pid_t pid = std::exchange(pid_, -1);
  while (::waitpid(pid, &status, 0) < 0) CHECK(errno == EINTR);
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.status = WEXITSTATUS(status)};
}

}  // namespace perennial::tool::work
