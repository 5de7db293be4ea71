#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace perennial::support {

// How a run of the tool ended, and what it wrote.
struct ToolRun {
  int code = -1;  // Or the signal that ended it, negative.
  std::string out;
  std::string err;
};

// perennial as a child process: beside the running test, or where PERENNIAL says. Its output goes
// to pipes, so that it is on no terminal. Killed at the latest when this object goes.
class ToolProcess {
 public:
  explicit ToolProcess(std::vector<std::string> arguments, const std::string& input = {});
  ~ToolProcess();
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number);
  // Waits for its end; a run of more than a minute is a CHECK.
  ToolRun wait();

 private:
  pid_t pid_ = -1;
  int input_ = -1;  // Files without a name: no output is too large, and nothing blocks.
  int out_ = -1;
  int err_ = -1;
};

// From its start to its end.
ToolRun run_tool(std::vector<std::string> arguments, const std::string& input = {});

std::string tool_path();

}  // namespace perennial::support
