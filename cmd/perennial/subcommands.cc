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
      dump_command(options.dump),
      load_command(options.load),
      check_command(options.check),
      checkpoint_create_command(options.checkpoint_create),
      checkpoint_list_command(options.checkpoint_list),
      checkpoint_verify_command(options.checkpoint_verify),
      checkpoint_prune_command(options.checkpoint_prune),
      restore_command(options.restore),
      migrate_command(options.migrate),
      import_binlog_command(options.import_binlog),
      export_beanstalkd_command(options.export_beanstalkd),
      bench::bench_command(options.bench),
      manual_command(options.manual),
      completions_command(options.completions),
  };
}

std::vector<Group> all_groups() {
  return {
      {"checkpoint", "Checkpoints: verified copies of a data directory"},
  };
}

}  // namespace perennial::tool
