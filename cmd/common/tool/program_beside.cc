#include "cmd/common/tool/program_beside.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
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

}  // namespace perennial::tool
