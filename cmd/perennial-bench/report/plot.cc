#include "cmd/perennial-bench/report/plot.h"

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "cmd/common/socket.h"
#include "cmd/common/tool/program_beside.h"

namespace perennial::bench {
namespace {

constexpr const char* plotter_name = "perennial-bench-plot";

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

Status run_plotter(std::vector<std::string> arguments, int in, int out) {
  const Result<int> exit_status =
      tool::wait_for_program_beside(plotter_name, std::move(arguments), in, out);
  if (!exit_status.ok()) return exit_status.status();
  if (*exit_status == 0) return {};
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
