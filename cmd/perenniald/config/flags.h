#pragma once

#include <string>
#include <vector>

#include "cmd/perenniald/config/config.h"

namespace perennial::perenniald {

// The result of reading the command line.
struct Invocation {
  // Check: the files that the configuration names are to be checked, too. Access: the same, and
  // then to be told who may do what.
  enum class Action : uint8_t { Serve, Check, Access, Exit };
  Action action = Action::Exit;
  bool json = false;                  // Of Access: as JSON.
  Config config;                      // Of all but Exit.
  std::vector<std::string> warnings;  // Of Serve: to be logged.
  bool exits_with_stdin = false;      // Of Serve: it ends when standard input does.
  int exit_code = 0;  // Of Exit, with these texts for standard output and standard error. Of
                      // Check, `out` is for when all is good.
  std::string out;
  std::string err;
  Problems problems;  // Of Exit: what is wrong with the flags or the file. Empty: nothing.
};

// Reads beanstalkd's flags, combined as getopt allows (-Vb DIR, -f0, -VVV), and the long flags.
// Reads the file of --config, which flags override. Opens no other file.
Invocation parse_command_line(int argc, const char* const* argv);

}  // namespace perennial::perenniald
