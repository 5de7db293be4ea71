#include "cmd/common/tool/program_beside.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace perennial::tool {

Result<std::string> program_beside(const std::string& name) {
  std::error_code failed;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return Status(StatusCode::Io, "/proc/self/exe: " + failed.message());
  return path.replace_filename(name).string();
}

Status run_program_beside(const std::string& name, char** arguments) {
  Result<std::string> program = program_beside(name);
  if (!program.ok()) return program.take_status();
  std::vector<char*> all = {program->data()};
  for (; *arguments != nullptr; ++arguments) all.push_back(*arguments);
  all.push_back(nullptr);
  ::execv(program->c_str(), all.data());
  const int error = errno;
  return {error == ENOENT ? StatusCode::NotFound : StatusCode::Io,
          fmt::format("{}: {}; this program does the work, and is installed beside perennial",
                      *program, std::strerror(error))};
}

Result<int> wait_for_program_beside(const std::string& name, std::vector<std::string> arguments,
                                    int in, int out) {
  Result<std::string> program = program_beside(name);
  if (!program.ok()) return program.take_status();
  std::vector<char*> all = {program->data()};
  for (std::string& argument : arguments) all.push_back(argument.data());
  all.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  pid_t process = 0;
  const int failed =
      ::posix_spawn(&process, program->c_str(), &actions, nullptr, all.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return Status(StatusCode::Io, *program + ": " + std::strerror(failed));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return Status(StatusCode::Io, name + " was ended by a signal");
}

}  // namespace perennial::tool
