#pragma once

#include "cmd/common/tool/subcommand.h"

// --quiet, which all commands have: they print nothing but errors. It is of the whole process, as
// the standard streams are.
namespace perennial::tool {

// Whether it was asked for. What is printed on standard error and is no error, such as progress,
// asks this. Standard output need not.
bool is_quiet();

// The flags of a command, and behind them those that all have. The help, the manual and the
// completions show these.
std::vector<Flag> all_flags(const Subcommand& command);

// If it was asked for, lets what is printed on standard output go to /dev/null from now on. Io: it
// cannot be opened.
Status keep_quiet();

}  // namespace perennial::tool
