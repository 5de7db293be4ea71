#include "cmd/perennial/work/program.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perennial::tool::work {
namespace {

// 0, or the error's number that execve() would give.
int error_of(const std::string& path) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return errno;
  if (!S_ISREG(file.st_mode)) return S_ISDIR(file.st_mode) ? EISDIR : EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

// Like execvp(): of the folders of PATH the first in which it can be executed. A file that may not
// be executed is told of only if there is no other.
int error_in_path(const std::string& name) {
  const char* const variable = std::getenv("PATH");
  std::string_view folders = variable == nullptr ? "/bin:/usr/bin" : variable;
  int error = ENOENT;
  for (bool more = true; more;) {
    const size_t end = folders.find(':');
    const std::string_view folder = folders.substr(0, end);
    const int found = error_of(fmt::format("{}{}{}", folder, folder.empty() ? "" : "/", name));
    if (found == 0) return 0;
    if (found == EACCES) error = EACCES;
    more = end != std::string_view::npos;
    if (more) folders.remove_prefix(end + 1);
  }
  return error;
}

StatusCode code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return StatusCode::NotFound;
    case EAGAIN:
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return StatusCode::Io;
    default:
      return StatusCode::Unsupported;
  }
}

}  // namespace

Status not_started(const std::string& name, int error) {
  return {code_of(error), fmt::format("start {}: {}", name, std::strerror(error))};
}

bool is_named_by_job(const std::vector<std::string>& command) {
  return command.front().find("{}") != std::string::npos;
}

Status check_program(const std::vector<std::string>& command) {
  const std::string& name = command.front();
  if (is_named_by_job(command)) return {};
  const int error = name.find('/') == std::string::npos ? error_in_path(name) : error_of(name);
  return error == 0 ? Status() : not_started(name, error);
}

int status_of(const Status& failure) {
  if (failure.code() == StatusCode::NotFound) return status_not_found;
  return failure.code() == StatusCode::Unsupported ? status_not_executable : 0;
}

}  // namespace perennial::tool::work
