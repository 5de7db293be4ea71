#include "cmd/common/tool/cli.h"
#include "cmd/perennial-bench/bench.h"
#include "cmd/perennial-bench/command/bench_command.h"

int main(int argc, char** argv) {
  perennial::bench::BenchOptions options;
  perennial::tool::Subcommand command = perennial::bench::bench_command(options);
  command.run = [&options] { return perennial::bench::bench(options); };
  return perennial::tool::run_command_line(command, argc, argv);
}
