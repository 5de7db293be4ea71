#include "cmd/perennial/work/child.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

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

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The worker's own, without variables of these names, and these.
std::vector<std::string> environment_with(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** own = ::environ; *own != nullptr; ++own) {
    const std::string_view variable(*own);
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    bool replaced = false;
    for (const std::string& other : added) replaced = replaced || other.starts_with(name);
    if (!replaced) all.emplace_back(variable);
  }
  return all;
}

// What posix_spawn is told besides the program.
class SpawnPlan {
 public:
  SpawnPlan(int input, const sigset_t& signals) {
    ::posix_spawn_file_actions_init(&files_);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    // The worker ignores SIGPIPE, which a pipeline in the command counts on.
    sigset_t defaults;
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);
    ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
    ::posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnPlan() {
    ::posix_spawnattr_destroy(&attributes_);
    ::posix_spawn_file_actions_destroy(&files_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  // 0, or the error's number.
  int run(std::vector<std::string> command, std::vector<std::string> environment, pid_t& pid) {
    return ::posix_spawnp(&pid, command.front().c_str(), &files_, &attributes_,
                          pointers_to(command).data(), pointers_to(environment).data());
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

}  // namespace

Result<Child> Child::start(const ChildSetup& setup) {
  CHECK(!setup.command.empty());
  Result<common::Socket> input = input_file(setup.input);
  if (!input.ok()) return input.take_status();
  pid_t pid = -1;
  const int error = SpawnPlan(input->fd(), setup.signals)
                        .run(setup.command, environment_with(setup.environment), pid);
  if (error != 0) {
    return Status(error == ENOENT ? StatusCode::NotFound : StatusCode::Io,
                  fmt::format("start {}: {}", setup.command.front(), std::strerror(error)));
  }
  // A system call, because glibc 2.36 declares its function for C only.
  common::Socket pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (pidfd.fd() < 0) {
    const Status failed = common::system_error("watch the command");
    Child(pid, common::Socket());  // Kills the command, which nobody could wait for.
    return failed;
  }
  return Child(pid, std::move(pidfd));
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}

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
