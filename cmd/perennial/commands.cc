#include "cmd/perennial/commands.h"

namespace perennial::tool {

std::vector<Command> all_commands(AllOptions& options) {
  return {
      dump_command(options.dump),
      load_command(options.load),
      check_command(options.check),
      import_binlog_command(options.import_binlog),
      bench::bench_put_command(options.bench_put),
  };
}

std::vector<Group> all_groups() {
  return {
      {"bench", "Measure a server that speaks the protocol"},
  };
}

}  // namespace perennial::tool
