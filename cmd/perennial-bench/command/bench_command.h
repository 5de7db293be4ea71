#pragma once

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial-bench/command/options.h"

namespace perennial::bench {

// The executable, which lies beside the tool's.
inline constexpr const char* program_name = "perennial-bench";

// perennial bench, without what it does: for the command line of the program itself, and for the
// help, the manual and the completions of the tool.
tool::Subcommand bench_command(BenchOptions& options);

}  // namespace perennial::bench
