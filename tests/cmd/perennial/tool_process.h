#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace perennial::support {

// The exit code and output of a run of the tool.
struct ToolRun {
  int code = -1;  // Or the negative number of the signal that ended it.
  std::string out;
  std::string err;
};

// perennial as a child process: the program beside the running test, or the one in PERENNIAL. Its
// output goes to pipes, so that it has no terminal. The destructor kills it.
class ToolProcess {
 public:
  explicit ToolProcess(std::vector<std::string> arguments, const std::string& input = {});
  ~ToolProcess();
  ToolProcess(const ToolProcess&) = delete;
  ToolProcess& operator=(const ToolProcess&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number);
  // Waits for its end. A run of more than a minute is a CHECK.
  ToolRun wait();

 private:
  pid_t pid_ = -1;
  int input_ = -1;  // Unnamed files, so that output of any size does not block.
  int out_ = -1;
  int err_ = -1;
};

// Runs the tool from start to end.
ToolRun run_tool(std::vector<std::string> arguments, const std::string& input = {});

std::string tool_path();

}  // namespace perennial::support
