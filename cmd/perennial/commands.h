#pragma once

#include <vector>

#include "cmd/perennial/bench_put.h"
#include "cmd/perennial/command.h"
#include "cmd/perennial/completions.h"
#include "cmd/perennial/import_binlog.h"
#include "cmd/perennial/manual.h"

namespace perennial::tool {

// The options of every subcommand, for as long as the program runs.
struct AllOptions {
  ImportOptions import_binlog;
  bench::PutOptions bench_put;
  ManualOptions manual;
  CompletionsOptions completions;
};

// Every subcommand, in the order in which --help lists them.
std::vector<Command> all_commands(AllOptions& options);

std::vector<Group> all_groups();

}  // namespace perennial::tool
