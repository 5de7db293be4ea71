#pragma once

#include <vector>

#include "cmd/perennial/bench_put.h"
#include "cmd/perennial/bury.h"
#include "cmd/perennial/check.h"
#include "cmd/perennial/checkpoint_create.h"
#include "cmd/perennial/checkpoint_offline.h"
#include "cmd/perennial/command.h"
#include "cmd/perennial/completions.h"
#include "cmd/perennial/delete.h"
#include "cmd/perennial/drain.h"
#include "cmd/perennial/dump.h"
#include "cmd/perennial/export_beanstalkd.h"
#include "cmd/perennial/import_binlog.h"
#include "cmd/perennial/kick.h"
#include "cmd/perennial/load.h"
#include "cmd/perennial/manual.h"
#include "cmd/perennial/migrate.h"
#include "cmd/perennial/pause.h"
#include "cmd/perennial/peek.h"
#include "cmd/perennial/put.h"
#include "cmd/perennial/restore.h"
#include "cmd/perennial/stats.h"
#include "cmd/perennial/top.h"
#include "cmd/perennial/tubes.h"

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
  MigrateOptions migrate;
  StatsOptions stats;
  TubesOptions tubes;
  TopOptions top;
  PutOptions put;
  PeekOptions peek;
  KickOptions kick;
  BuryOptions bury;
  DeleteOptions delete_jobs;
  PauseOptions pause;
  DrainOptions drain;
  ImportOptions import_binlog;
  ExportOptions export_beanstalkd;
  bench::PutOptions bench_put;
  ManualOptions manual;
  CompletionsOptions completions;
};

// Every subcommand, in the order in which --help lists them.
std::vector<Command> all_commands(AllOptions& options);

std::vector<Group> all_groups();

}  // namespace perennial::tool
