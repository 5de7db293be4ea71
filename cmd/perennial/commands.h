#pragma once

#include <vector>

#include "cmd/perennial/bench_put.h"
#include "cmd/perennial/check.h"
#include "cmd/perennial/command.h"
#include "cmd/perennial/dump.h"
#include "cmd/perennial/import_binlog.h"
#include "cmd/perennial/load.h"

namespace perennial::tool {

// The options of every subcommand, for as long as the program runs.
struct AllOptions {
  DumpOptions dump;
  LoadOptions load;
  CheckOptions check;
  ImportOptions import_binlog;
  bench::PutOptions bench_put;
};

// Every subcommand, in the order in which --help lists them.
std::vector<Command> all_commands(AllOptions& options);

// What the groups of subcommands are for: "bench" of "bench put".
struct Group {
  std::string name;
  std::string summary;
};
std::vector<Group> all_groups();

}  // namespace perennial::tool
