#include "cmd/perennial-bench/command/bench_command.h"

#include <fmt/format.h>

#include "cmd/common/tool/tls_flags.h"
#include "cmd/perennial-bench/command/workload_list.h"

namespace perennial::bench {
namespace {

using tool::Flag;

std::vector<std::string> workload_names() {
  std::vector<std::string> names = {std::string(all_name)};
  for (const Workload& workload : all_workloads()) names.emplace_back(workload.name);
  return names;
}

std::string about() {
  std::string text =
      "Puts load on servers that speak the protocol, and says how much they take and how long "
      "they make a client wait. With --against it starts the servers itself, each time fresh in a "
      "directory of its own, and they take turns; the first is what the others are compared with. "
      "Otherwise it measures a running one. There it uses tubes of its own, but what was put stays "
      "there: do not do it to a server that is needed.\n\n"
      "Half a second before each round is not measured. Rates are the median of the rounds, "
      "latencies those of all rounds together. That of a cycle is from the put to the worker: "
      "mostly the wait in a queue of at most 4,000 jobs, at which producers pause. A warning says "
      "when this client, and not a server, "
      "was the limit.\n\n"
      "Workloads; without a name it is put, with --quick all of them:";
  for (const Workload& workload : all_workloads())
    text += fmt::format("\n\n{}: {}.", workload.name, workload.does);
  return text +
         "\n\nbacklog, memory, restart and disk fill a server, which may take long and much room "
         "(--jobs), and are done once if --rounds does not say otherwise. memory, restart and disk "
         "need --against.\n\n"
         "perennial-bench-plot REPORT.json >PICTURE.svg draws what --json has written, as --plot "
         "does at once. It needs jq and gnuplot (on Debian gnuplot-nox), and says what is missing.";
}

std::vector<Flag> server_flags(BenchOptions& options) {
  return {
      {"WORKLOAD", "", "What to do, or all", &options.workloads, false, workload_names()},
      {"--against", "NAME=COMMAND",
       "Start this server, with {dir} and {port} filled in; may be given again", &options.against},
      {"--server", "ADDR",
       "A running server instead: HOST:PORT or unix:PATH; 127.0.0.1:11300 if nothing is said",
       &options.server},
      {"--dir", "DIR", "Where the directories of --against go; TMPDIR or /tmp if not given",
       &options.dir},
      {"--preload", "FILE",
       "A library for LD_PRELOAD of every server: libperennial_slow_sync.so makes syncs slower",
       &options.preload},
      {.name = "--preload-us",
       .value = "US",
       .help = "By how many microseconds it makes a sync longer (SLOW_SYNC_US)",
       .target = &options.preload_us,
       .highest = 60'000'000},
  };
}

std::vector<Flag> run_flags(BenchOptions& options) {
  return {
      {.name = "--seconds",
       .value = "DURATION",
       .help = "How long to measure in each round",
       .target = &options.time,
       .highest = 86'400'000},
      {"--rounds", "N", "How often each server takes its turn; 3, or 1 if that fills it",
       &options.rounds},
      {.name = "--body-bytes",
       .value = "BYTES",
       .help = "Size of a body, where the workload does not say",
       .target = &options.body_bytes,
       .highest = uint64_t{1} << 30},
      {"--jobs", "N", "Put at most so many jobs in workloads that fill a server", &options.jobs},
      {"--seed", "N", "Of the bodies, and of what mixed draws", &options.seed},
      {"--quick", "", "One short round with few connections and jobs, to see that it works",
       &options.quick},
      {"--json", "FILE", "Write the whole report as JSON; - is standard output", &options.json},
      {"--plot", "FILE.svg",
       "Draw latency percentiles and throughput over time, with perennial-bench-plot; needs jq and "
       "gnuplot",
       &options.plot},
      {"--check", "FILE",
       "Compare with budgets (etc/bench-budgets.yaml); exit code 1 if one is missed",
       &options.check},
      {"--list", "", "Only print the names of the workloads and what they do", &options.list},
      {"--rate", "N", "Of steady: puts per second (default 20000)", &options.rate},
      {"--batch", "N", "Of cycle-batch: jobs in a batch (default 100)", &options.batch},
      {"--connections", "N", "Of custom: how many put at once (default 50)", &options.connections},
      {"--in-flight", "N", "Of custom: unanswered puts on each (default 1)", &options.in_flight},
      {"--tubes", "N", "Of custom: first put one job into each of so many tubes", &options.tubes},
      {"--idle", "N", "Of custom: first open so many connections that say nothing", &options.idle},
  };
}

}  // namespace

tool::Subcommand bench_command(BenchOptions& options) {
  std::vector<Flag> flags = server_flags(options);
  for (Flag& flag : run_flags(options)) flags.push_back(std::move(flag));
  flags = tool::with_tls_flags(options.tls, std::move(flags));
  flags.push_back(tool::token_flag(options.token_file));
  flags.push_back(tool::insecure_token_flag(options.insecure_token));
  return {
      .name = "bench",
      .summary = "Measure servers that speak the protocol, side by side",
      .about = about(),
      .examples =
          "  # The workload that is quoted, on two servers.\n"
          "  perennial bench put --against 'ours=perenniald -l 127.0.0.1 -p {port} -b {dir}/data' "
          "\\\n"
          "      --against 'theirs=beanstalkd -l 127.0.0.1 -p {port} -b {dir} -f 0'\n"
          "  # How they do when a job is worked on at once, and how quickly one starts.\n"
          "  perennial bench cycle restart --jobs 1000000 \\\n"
          "      --against 'ours=perenniald -l 127.0.0.1 -p {port} -b {dir}/data'\n"
          "  # What this project promises, next to beanstalkd synced and not; for reports and "
          "plots.\n"
          "  perennial bench all --check etc/bench-budgets.yaml --json bench.json --plot bench.svg "
          "\\\n"
          "      --against 'ours=perenniald -l 127.0.0.1 -p {port} -b {dir}/data' \\\n"
          "      --against 'synced=beanstalkd -l 127.0.0.1 -p {port} -b {dir} -f 0' \\\n"
          "      --against 'logged=beanstalkd -l 127.0.0.1 -p {port} -b {dir}' \\\n"
          "      --against 'memory=beanstalkd -l 127.0.0.1 -p {port}'\n"
          "  # A server on a test machine.\n"
          "  perennial bench latency --server queue.test:11300 --seconds 10\n"
          "  # One's own recipe.\n"
          "  perennial bench custom --connections 10 --in-flight 5 --body-bytes 4096\n",
      .flags = std::move(flags),
      .run = {},
      .program = program_name,
  };
}

}  // namespace perennial::bench
