#pragma once

#include <string>
#include <vector>

#include "cmd/perenniald/config/config.h"

namespace perennial::perenniald {

// What the command line asks for.
struct Invocation {
  enum class Action : uint8_t { Serve, Exit };
  Action action = Action::Exit;
  Config config;                      // Serve.
  std::vector<std::string> warnings;  // Serve: to be logged.
  int exit_code = 0;                  // Exit, with this on standard output and standard error.
  std::string out;
  std::string err;
};

// Understands beanstalkd's flags, clustered as getopt does (-Vb DIR, -f0, -VVV), and long ones.
// Reads the file that --config names; flags win over it. Opens nothing else.
Invocation parse_command_line(int argc, const char* const* argv);

}  // namespace perennial::perenniald
