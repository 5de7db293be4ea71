#include "cmd/perennial/subcommands.h"

namespace perennial::tool {

std::vector<Subcommand> all_commands(AllOptions& options) {
  return {
      stats_command(options.stats),
      tubes_command(options.tubes),
      top_command(options.top),
      put_command(options.put),
      peek_command(options.peek),
      kick_command(options.kick),
      bury_command(options.bury),
      delete_command(options.delete_jobs),
      pause_command(options.pause),
      drain_command(options.drain),
      undrain_command(options.undrain),
      list_command(options.list),
      flush_command(options.flush),
      move_command(options.move),
      set_job_command(options.set_job),
      set_tube_command(options.set_tube),
      work_command(options.work),
      dump_command(options.dump),
      load_command(options.load),
      check_command(options.check),
      repair_command(options.repair),
      checkpoint_create_command(options.checkpoint_create),
      checkpoint_list_command(options.checkpoint_list),
      checkpoint_verify_command(options.checkpoint_verify),
      checkpoint_prune_command(options.checkpoint_prune),
      restore_command(options.restore),
      migrate_command(options.migrate),
      token_new_command(options.token_new),
      users_check_command(options.users_check),
      import_binlog_command(options.import_binlog),
      export_beanstalkd_command(options.export_beanstalkd),
      cluster_status_command(options.cluster_status),
      cluster_handover_command(options.cluster_handover),
      cluster_resign_command(options.cluster_resign),
      cluster_pause_command(options.cluster_pause),
      cluster_resume_command(options.cluster_resume),
      cluster_repair_command(options.cluster_repair),
      cluster_init_command(options.cluster_init),
      cluster_recover_command(options.cluster_recover),
      cluster_verify_command(options.cluster_verify),
      bench::bench_command(options.bench),
      manual_command(options.manual),
      completions_command(options.completions),
  };
}

std::vector<Group> all_groups() {
  return {
      {"set", "Change jobs, or the settings of a tube"},
      {"token", "Tokens of users"},
      {"users", "Users of the server, and their rights"},
      {"cluster", "A cluster, whose log is in etcd"},
      {"checkpoint", "Checkpoints: verified copies of a data directory"},
  };
}

}  // namespace perennial::tool
