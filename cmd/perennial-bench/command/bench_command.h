#pragma once

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial-bench/command/options.h"

namespace perennial::bench {

// The executable, which is installed beside the tool's.
inline constexpr const char* program_name = "perennial-bench";

// The definition of perennial bench without its action: for the program's own command line, and for
// the tool's help, manual and completions.
tool::Subcommand bench_command(BenchOptions& options);

}  // namespace perennial::bench
