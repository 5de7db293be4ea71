#include "cmd/perennial/bench/bench_put.h"

#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "cmd/perennial/bench/fresh_server.h"
#include "cmd/perennial/bench/prepare.h"
#include "cmd/perennial/bench/put_load.h"
#include "cmd/perennial/bench/report.h"

namespace perennial::bench {
namespace {

constexpr Nanos warm_up = nanos_per_second / 2;

Nanos own_cpu_time() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const int64_t seconds = used.ru_utime.tv_sec + used.ru_stime.tv_sec;
  const int64_t micros = used.ru_utime.tv_usec + used.ru_stime.tv_usec;
  return seconds * nanos_per_second + micros * 1000;
}

struct Contender {
  std::string name;
  std::string command;
};

Result<std::vector<Contender>> read_contenders(const std::vector<std::string>& words) {
  std::vector<Contender> contenders;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return Status(StatusCode::InvalidArgument,
                    fmt::format("--against {}: write it as NAME=COMMAND", word));
    contenders.push_back({.name = word.substr(0, equals), .command = word.substr(equals + 1)});
  }
  return contenders;
}

Status measure_running(const PutOptions& options, std::vector<PutResult>& results) {
  Result<common::Address> address = common::parse_address(options.server, common::default_port);
  if (!address.ok()) return address.take_status();
  results.push_back({.name = options.server});
  return measure_put(*address, options, results.back()).with(options.server);
}

// Round by round, each server in turn, so that a machine that changes its mind changes it for all.
Status measure_contenders(const PutOptions& options, const std::string& dir,
                          std::vector<PutResult>& results) {
  Result<std::vector<Contender>> contenders = read_contenders(options.against);
  if (!contenders.ok()) return contenders.take_status();
  for (const Contender& contender : *contenders) results.push_back({.name = contender.name});
  for (uint32_t round = 0; round < options.rounds; ++round)
    for (size_t i = 0; i < results.size(); ++i) {
      Result<std::unique_ptr<FreshServer>> server =
          FreshServer::start((*contenders)[i].command, dir);
      if (!server.ok()) return server.take_status().with(results[i].name);
      if (Status s = measure_put((*server)->address(), options, results[i]); !s.ok())
        return std::move(s).with(results[i].name);
    }
  return {};
}

Report report_of(const PutOptions& options, const std::string& machine,
                 const std::vector<PutResult>& results) {
  Report report = {.machine = machine,
                   .versions = {},
                   .seed = options.seed,
                   .seconds = options.seconds,
                   .rounds = options.against.empty() ? 1 : options.rounds};
  for (const PutResult& result : results)
    report.measurements.push_back(
        {.workload = "put",
         .setting = fmt::format("{}x{}", options.connections, options.in_flight),
         .server = result.name,
         .operation = "put",
         .latencies = result.latencies,
         .per_second = result.puts_per_second,
         .client_cpu = result.client_cpu});
  return report;
}

}  // namespace

Status bench_put(const PutOptions& options) {
  allow_many_files();
  const bool fresh = !options.against.empty();
  const std::string parent = options.dir.empty() ? default_parent_dir() : options.dir;
  const std::string machine = describe_machine(fresh ? parent : "");
  std::vector<PutResult> results;
  Status s =
      fresh ? measure_contenders(options, parent, results) : measure_running(options, results);
  if (!s.ok()) return s;
  std::fputs(format_table(report_of(options, machine, results)).c_str(), stdout);
  return {};
}

Status measure_put(const common::Address& server, const PutOptions& options, PutResult& result) {
  if (options.tubes > 0)
    if (Status s = fill_tubes(server, options); !s.ok()) return std::move(s).with("fill tubes");
  Result<std::vector<common::Socket>> idle = open_idle(server, options.idle);
  if (!idle.ok()) return idle.take_status();
  PutLoad load(options);
  if (Status s = load.open(server); !s.ok()) return s;
  Latencies unmeasured;
  if (Status s = load.run_for(warm_up, unmeasured); !s.ok()) return s;
  const auto duration = static_cast<Nanos>(options.seconds * nanos_per_second);
  Latencies measured;
  const Nanos cpu_before = own_cpu_time();
  const Nanos begun = now_nanos();
  if (Status s = load.run_for(duration, measured); !s.ok()) return s;
  const auto took = static_cast<double>(now_nanos() - begun);
  const auto cpu = static_cast<double>(own_cpu_time() - cpu_before);
  result.latencies.add_all(measured);
  result.puts_per_second.push_back(static_cast<double>(measured.total()) * nanos_per_second / took);
  result.client_cpu = std::max(result.client_cpu, cpu / took);
  return {};
}

tool::Subcommand bench_put_command(PutOptions& options) {
  constexpr uint64_t count_max = 1'000'000;
  return {
      .name = "bench put",
      .summary = "Put jobs as fast as the server answers",
      .about =
          "Without options it runs the workload that the README quotes, after half a second "
          "that is not measured. With --against it starts each server itself, fresh in a "
          "directory of its own, and they take turns.",
      .examples =
          "  perennial bench put --server 127.0.0.1:11300 --seconds 10\n"
          "  perennial bench put --against 'ours=perenniald -l 127.0.0.1 -p {port} -b {dir}/data' "
          "\\\n"
          "      --against 'theirs=beanstalkd -l 127.0.0.1 -p {port} -b {dir} -f 0'\n",
      .flags =
          {
              {"--server", "ADDR", "A running server: HOST:PORT or unix:PATH", &options.server},
              {.name = "--connections",
               .value = "N",
               .help = "How many put at once",
               .target = &options.connections,
               .lowest = 1,
               .highest = count_max},
              {.name = "--in-flight",
               .value = "N",
               .help = "Unanswered puts on each",
               .target = &options.in_flight,
               .lowest = 1,
               .highest = count_max},
              {.name = "--body-bytes",
               .value = "BYTES",
               .help = "Size of a body",
               .target = &options.body_bytes,
               .highest = uint64_t{1} << 30},
              {.name = "--seconds",
               .value = "SECONDS",
               .help = "How long to measure",
               .target = &options.seconds,
               .highest = 86'400},
              {.name = "--tubes",
               .value = "N",
               .help = "First put one job into each of so many tubes",
               .target = &options.tubes,
               .highest = count_max},
              {.name = "--idle",
               .value = "N",
               .help = "First open so many connections that say nothing",
               .target = &options.idle,
               .highest = count_max},
              {"--seed", "N", "Of the bytes in the bodies", &options.seed},
              {"--against", "NAME=COMMAND",
               "Start this server, with {dir} and {port} filled in; may be given again",
               &options.against},
              {.name = "--rounds",
               .value = "N",
               .help = "How often each server of --against takes its turn",
               .target = &options.rounds,
               .lowest = 1,
               .highest = count_max},
              {"--dir", "DIR", "Where their directories go; TMPDIR or /tmp if not given",
               &options.dir},
          },
      .run = [&options] { return bench_put(options); },
  };
}

}  // namespace perennial::bench
