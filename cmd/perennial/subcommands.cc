#include "cmd/perennial/subcommands.h"

#include <memory>

#include "cmd/perennial-bench/command/bench_command.h"
#include "cmd/perennial/checkpoints/commands.h"
#include "cmd/perennial/cluster/commands.h"
#include "cmd/perennial/completions.h"
#include "cmd/perennial/dump/commands.h"
#include "cmd/perennial/export/commands.h"
#include "cmd/perennial/jobs/commands.h"
#include "cmd/perennial/manual.h"
#include "cmd/perennial/monitor/commands.h"
#include "cmd/perennial/offline/commands.h"
#include "cmd/perennial/schedules/commands.h"
#include "cmd/perennial/stats/commands.h"
#include "cmd/perennial/tubes/commands.h"
#include "cmd/perennial/users/commands.h"
#include "cmd/perennial/work/work.h"

namespace perennial::tool {
namespace {

// Another program runs it. The tool has its flags for the help, the manual and the completions.
Subcommand bench_command() {
  const auto options = std::make_shared<bench::BenchOptions>();
  Subcommand command = bench::bench_command(*options);
  command.holds = options;
  return command;
}

}  // namespace

std::vector<Subcommand> all_commands() {
  return {
      stats_command(),
      tubes_command(),
      top_command(),
      clients_command(),
      put_command(),
      peek_command(),
      kick_command(),
      bury_command(),
      delete_command(),
      pause_command(),
      drain_command(),
      undrain_command(),
      list_command(),
      flush_command(),
      restore_job_command(),
      restore_tube_command(),
      move_command(),
      set_job_command(),
      note_command(),
      set_tube_command(),
      work_command(),
      dump_command(),
      load_command(),
      check_command(),
      health_command(),
      repair_command(),
      checkpoint_create_command(),
      checkpoint_list_command(),
      checkpoint_verify_command(),
      checkpoint_prune_command(),
      restore_command(),
      migrate_command(),
      token_new_command(),
      users_check_command(),
      schedule_list_command(),
      schedule_show_command(),
      schedule_set_command(),
      schedule_apply_command(),
      schedule_export_command(),
      schedule_delete_command(),
      schedule_pause_command(),
      schedule_run_command(),
      schedule_next_command(),
      import_binlog_command(),
      copy_command(),
      export_beanstalkd_command(),
      cluster_status_command(),
      cluster_handover_command(),
      cluster_resign_command(),
      cluster_pause_command(),
      cluster_resume_command(),
      cluster_repair_command(),
      cluster_init_command(),
      cluster_recover_command(),
      cluster_verify_command(),
      bench_command(),
      manual_command(),
      completions_command(),
  };
}

std::vector<Group> all_groups() {
  return {
      {"set", "Change jobs, or the settings of a tube"},
      {"token", "Tokens of users"},
      {"users", "Users of the server, and their rights"},
      {"schedule", "Jobs at a time, again and again"},
      {"cluster", "A cluster, whose log is in etcd"},
      {"checkpoint", "Checkpoints: verified copies of a data directory"},
  };
}

}  // namespace perennial::tool
