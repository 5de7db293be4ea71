#include <cstdio>

#include <CLI/CLI.hpp>

#include "cmd/common/exit_codes.h"
#include "cmd/perennial/bench_put.h"
#include "cmd/perennial/import_binlog.h"

namespace perennial {
namespace {

constexpr uint32_t count_max = 1'000'000;

void add_bench_put(CLI::App& bench, bench::PutOptions& options) {
  CLI::App* put = bench.add_subcommand("put", "Put jobs as fast as the server answers");
  put->footer(
      "Without options it runs the workload that the README quotes. To compare servers, each\n"
      "started fresh in a directory of its own:\n"
      "  perennial bench put --against 'ours=perenniald -l 127.0.0.1 -p {port} -b {dir}/data' \\\n"
      "                      --against 'theirs=beanstalkd -l 127.0.0.1 -p {port} -b {dir} -f 0'");
  put->option_defaults()->always_capture_default();
  const CLI::Range counts(uint32_t{1}, count_max);
  const CLI::Range counts_or_none(uint32_t{0}, count_max);
  put->add_option("--server", options.server, "A running server: HOST:PORT or unix:PATH");
  put->add_option("--connections", options.connections, "How many put at once")->check(counts);
  put->add_option("--in-flight", options.in_flight, "Unanswered puts on each")->check(counts);
  put->add_option("--body-bytes", options.body_bytes, "Size of a body")
      ->check(CLI::Range(uint32_t{0}, uint32_t{1} << 30));
  put->add_option("--seconds", options.seconds, "How long, after half a second unmeasured")
      ->check(CLI::Range(0.1, 86'400.0));
  put->add_option("--tubes", options.tubes, "First put one job into each of so many tubes")
      ->check(counts_or_none);
  put->add_option("--idle", options.idle, "First open so many connections that say nothing")
      ->check(counts_or_none);
  put->add_option("--seed", options.seed, "Of the bytes in the bodies");
  put->add_option("--against", options.against,
                  "NAME=COMMAND, repeatable: start this server, with {dir} and {port} filled in")
      ->allow_extra_args(false);
  put->add_option("--rounds", options.rounds, "How often each server of --against takes its turn")
      ->check(counts);
  put->add_option("--dir", options.dir, "Where their directories go; TMPDIR or /tmp if not given");
}

CLI::App* add_import_binlog(CLI::App& app, tool::ImportOptions& options) {
  CLI::App* import = app.add_subcommand("import-binlog",
                                        "Bring the jobs of a beanstalkd into a new data directory");
  import->footer(
      "Stop beanstalkd first; its directory is only read, so that you can go back to it. Example:\n"
      "  perennial import-binlog --from /var/lib/beanstalkd --to /var/lib/perennial\n"
      "  perenniald -b /var/lib/perennial\n"
      "Ids, tubes, priorities, delays, counters and the order of buried jobs are kept. Reserved\n"
      "jobs become ready, as when beanstalkd starts again.");
  import->add_option("--from", options.from, "The directory that beanstalkd was given with -b")
      ->required();
  import->add_option("--to", options.to, "The data directory to make; it must not be there yet");
  import->add_flag("--dry-run", options.dry_run, "Read and report, and write nothing");
  import->add_flag("--skip-damaged", options.skip_damaged,
                   "Go on where a file is damaged, without what stands behind the damage");
  import->add_flag("--json", options.json, "Report as JSON");
  return import;
}

int report(const Status& status) {
  if (status.ok()) return common::exit_clean;
  std::fprintf(stderr, "perennial: %s\n", status.message().c_str());
  return status.code() == StatusCode::InvalidArgument ? common::exit_tool_usage
                                                      : common::exit_failed;
}

}  // namespace

int run(int argc, char** argv) {
  CLI::App app("The operator's tool for perenniald");
  app.require_subcommand(1);
  CLI::App* bench = app.add_subcommand("bench", "Measure a server that speaks the protocol");
  bench->require_subcommand(1);
  bench::PutOptions put;
  add_bench_put(*bench, put);
  tool::ImportOptions import;
  CLI::App* const import_binlog = add_import_binlog(app, import);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? common::exit_clean : common::exit_tool_usage;
  }
  if (!import_binlog->parsed()) return report(bench::bench_put(put));
  if (!import.dry_run && import.to.empty()) {
    return report({StatusCode::InvalidArgument, "import-binlog: --to is required, or --dry-run"});
  }
  return report(tool::import_binlog(import).with("import-binlog"));
}

}  // namespace perennial

int main(int argc, char** argv) {
  return perennial::run(argc, argv);
}
