#pragma once

#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial-bench/command/bench_command.h"
#include "cmd/perennial/checkpoints/checkpoint_create.h"
#include "cmd/perennial/checkpoints/checkpoint_offline.h"
#include "cmd/perennial/checkpoints/checkpoint_prune.h"
#include "cmd/perennial/checkpoints/restore.h"
#include "cmd/perennial/cluster/begin_cluster.h"
#include "cmd/perennial/cluster/cluster_status.h"
#include "cmd/perennial/cluster/handover.h"
#include "cmd/perennial/cluster/pause_takeovers.h"
#include "cmd/perennial/cluster/recover_cluster.h"
#include "cmd/perennial/cluster/repair_node.h"
#include "cmd/perennial/cluster/resign.h"
#include "cmd/perennial/cluster/verify.h"
#include "cmd/perennial/completions.h"
#include "cmd/perennial/dump/dump.h"
#include "cmd/perennial/dump/load.h"
#include "cmd/perennial/export/export_beanstalkd.h"
#include "cmd/perennial/jobs/bury.h"
#include "cmd/perennial/jobs/delete.h"
#include "cmd/perennial/jobs/flush.h"
#include "cmd/perennial/jobs/kick.h"
#include "cmd/perennial/jobs/list.h"
#include "cmd/perennial/jobs/move.h"
#include "cmd/perennial/jobs/peek.h"
#include "cmd/perennial/jobs/put.h"
#include "cmd/perennial/jobs/set_job.h"
#include "cmd/perennial/manual.h"
#include "cmd/perennial/offline/check.h"
#include "cmd/perennial/offline/import_binlog.h"
#include "cmd/perennial/offline/migrate.h"
#include "cmd/perennial/offline/repair.h"
#include "cmd/perennial/stats/stats.h"
#include "cmd/perennial/stats/top.h"
#include "cmd/perennial/tubes/drain.h"
#include "cmd/perennial/tubes/pause.h"
#include "cmd/perennial/tubes/set_tube.h"
#include "cmd/perennial/tubes/tubes.h"
#include "cmd/perennial/tubes/undrain.h"
#include "cmd/perennial/users/token_new.h"
#include "cmd/perennial/users/users_check.h"
#include "cmd/perennial/work/work.h"

namespace perennial::tool {

// The options of every subcommand, which exist as long as the program runs.
struct AllOptions {
  DumpOptions dump;
  LoadOptions load;
  CheckOptions check;
  RepairOptions repair;
  CheckpointCreateOptions checkpoint_create;
  CheckpointListOptions checkpoint_list;
  TokenNewOptions token_new;
  UsersCheckOptions users_check;
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
  UndrainOptions undrain;
  ListOptions list;
  FlushOptions flush;
  MoveOptions move;
  SetJobOptions set_job;
  SetTubeOptions set_tube;
  WorkOptions work;
  ImportOptions import_binlog;
  ExportOptions export_beanstalkd;
  ClusterStatusOptions cluster_status;
  HandoverOptions cluster_handover;
  ResignOptions cluster_resign;
  ClusterRepairOptions cluster_repair;
  ClusterPauseOptions cluster_pause;
  ClusterResumeOptions cluster_resume;
  ClusterInitOptions cluster_init;
  ClusterRecoverOptions cluster_recover;
  ClusterVerifyOptions cluster_verify;
  bench::BenchOptions bench;
  ManualOptions manual;
  CompletionsOptions completions;
};

// Every subcommand in the order of --help.
std::vector<Subcommand> all_commands(AllOptions& options);

std::vector<Group> all_groups();

}  // namespace perennial::tool
