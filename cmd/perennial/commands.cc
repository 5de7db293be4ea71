#include "cmd/perennial/commands.h"

namespace perennial::tool {

std::vector<Command> all_commands(AllOptions& options) {
  return {
      checkpoint_list_command(options.checkpoint_list),
      checkpoint_verify_command(options.checkpoint_verify),
      checkpoint_prune_command(options.checkpoint_prune),
      restore_command(options.restore),
      migrate_command(options.migrate),
      import_binlog_command(options.import_binlog),
      bench::bench_put_command(options.bench_put),
  };
}

std::vector<Group> all_groups() {
  return {
      {"checkpoint", "Checkpoints: verified copies of a data directory"},
      {"bench", "Measure a server that speaks the protocol"},
  };
}

}  // namespace perennial::tool
