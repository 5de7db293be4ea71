#include "cmd/perennial/commands.h"

namespace perennial::tool {

std::vector<Command> all_commands(AllOptions& options) {
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
      import_binlog_command(options.import_binlog),
      export_beanstalkd_command(options.export_beanstalkd),
      bench::bench_put_command(options.bench_put),
      manual_command(options.manual),
      completions_command(options.completions),
  };
}

std::vector<Group> all_groups() {
  return {
      {"bench", "Measure a server that speaks the protocol"},
  };
}

}  // namespace perennial::tool
