#include "cmd/perennial-bench/report/plot.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/common/socket.h"
#include "cmd/common/tool/program_beside.h"

namespace perennial::bench {
namespace {

constexpr const char* plotter_name = "perennial-bench-plot";

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

// Runs the program to its end, with these descriptors as standard input and output.
Status run_plotter(std::vector<std::string> arguments, int in, int out) {
  Result<std::string> program = tool::program_beside(plotter_name);
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
  if (failed != 0) return {StatusCode::Io, *program + ": " + std::strerror(failed)};
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return {StatusCode::Io, std::string(plotter_name) + " failed"};
}

// Returns a file with this text, positioned at its beginning.
File file_of(const std::string& text) {
  File file(std::tmpfile(), std::fclose);
  if (!file) return file;
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (!written || std::fflush(file.get()) != 0) file.reset();
  if (file) std::rewind(file.get());
  return file;
}

}  // namespace

Status check_plotter() {
  return run_plotter({"--check"}, STDIN_FILENO, STDOUT_FILENO).with("--plot");
}

Status draw_plot(const std::string& json, const std::string& path) {
  const File picture(std::fopen(path.c_str(), "we"), std::fclose);
  if (!picture) return {StatusCode::Io, path + ": cannot be written"};
  const File report = file_of(json);
  if (!report) return {StatusCode::Io, "the report cannot be written into a temporary file"};
  return run_plotter({}, ::fileno(report.get()), ::fileno(picture.get())).with(path);
}

}  // namespace perennial::bench
