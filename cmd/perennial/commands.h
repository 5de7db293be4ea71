#pragma once

#include <vector>

#include "cmd/perennial/bench_put.h"
#include "cmd/perennial/check.h"
#include "cmd/perennial/checkpoint_create.h"
#include "cmd/perennial/checkpoint_offline.h"
#include "cmd/perennial/command.h"
#include "cmd/perennial/completions.h"
#include "cmd/perennial/dump.h"
#include "cmd/perennial/import_binlog.h"
#include "cmd/perennial/load.h"
#include "cmd/perennial/manual.h"
#include "cmd/perennial/restore.h"

namespace perennial::tool {

// The options of every subcommand, for as long as the program runs.
struct AllOptions {
  DumpOptions dump;
  LoadOptions load;
  CheckOptions check;
  CheckpointCreateOptions checkpoint_create;
  CheckpointListOptions checkpoint_list;
  CheckpointVerifyOptions checkpoint_verify;
  CheckpointPruneOptions checkpoint_prune;
  RestoreOptions restore;
  ImportOptions import_binlog;
  bench::PutOptions bench_put;
  ManualOptions manual;
  CompletionsOptions completions;
};

// Every subcommand, in the order in which --help lists them.
std::vector<Command> all_commands(AllOptions& options);

std::vector<Group> all_groups();

}  // namespace perennial::tool
