#include "cmd/perennial-bench/bench.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/common/tool/quiet.h"
#include "cmd/perennial-bench/command/workload_list.h"
#include "cmd/perennial-bench/report/deliver.h"
#include "cmd/perennial-bench/report/plot.h"
#include "cmd/perennial-bench/servers/contenders.h"
#include "cmd/perennial-bench/servers/machine.h"
#include "cmd/perennial-bench/servers/prepare.h"
#include "cmd/perennial-bench/workloads/workloads.h"

namespace perennial::bench {
namespace {

constexpr uint32_t rounds_default = 3;

uint32_t rounds_of(const Task& task, const BenchOptions& options) {
  const bool once = task.fills || options.quick;
  return static_cast<uint32_t>(options.rounds.value_or(once ? 1 : rounds_default));
}

std::vector<std::string> names_of(const std::vector<Contender>& contenders) {
  std::vector<std::string> names;
  names.reserve(contenders.size());
  for (const Contender& contender : contenders) names.push_back(contender.name);
  return names;
}

// Checks everything that can be known before the first task, so that no long run fails for a reason
// that was visible at once.
Status check_tasks(const std::vector<Task>& tasks, const std::vector<Contender>& contenders) {
  uint64_t connections = 0;
  for (const Task& task : tasks) {
    connections = std::max(connections, task.connections);
    if (task.needs_own_server && !contenders.front().is_started)
      return {StatusCode::InvalidArgument,
              fmt::format("{} needs a server that was started to be measured: --against "
                          "NAME=COMMAND, not --server",
                          task.name)};
  }
  return allow_connections(connections);
}

// The current position of a bench: task, round and server.
class Run {
 public:
  Run(const BenchOptions& options, std::vector<Contender> contenders,
      std::optional<common::TlsClient> tls, std::string token)
      : options_(options),
        contenders_(std::move(contenders)),
        tls_(std::move(tls)),
        token_(std::move(token)),
        versions_(contenders_.size()),
        findings_(names_of(contenders_)) {}

  // Runs round by round and each server in turn, so that a change of the machine's speed affects
  // all servers.
  Status run(const Task& task) {
    const uint32_t rounds = rounds_of(task, options_);
    for (uint32_t round = 0; round < rounds; ++round)
      for (size_t place = 0; place < contenders_.size(); ++place) {
        const std::string& name = contenders_[place].name;
        show(fmt::format("{}, round {} of {}: {}", task.name, round + 1, rounds, name));
        if (Status s = run_once(task, place); !s.ok())
          return std::move(s).with(fmt::format("{}: {}", task.name, name));
      }
    return {};
  }

  void finish(Report& report) {
    show("");
    report.versions = versions_;
    report.measurements = findings_.take();
  }

 private:
  Status run_once(const Task& task, size_t place) {
    const Contender& contender = contenders_[place];
    Subject subject = {.options = options_,
                       .signals = signals_,
                       .target = contender.address,
                       .name = contender.name};
    if (contender.is_started) {
      Result<std::unique_ptr<FreshServer>> server = FreshServer::start(contender.launch, signals_);
      if (!server.ok()) return server.take_status();
      subject.started = server.take();
      subject.target = subject.started->address();
    }
    subject.target.tls_settings = options_.tls;
    subject.target.tls = tls_ ? &*tls_ : nullptr;
    subject.target.token_file = options_.token_file;
    subject.target.token = token_;
    subject.target.insecure_token = options_.insecure_token;
    if (Status s = note_version(subject, place); !s.ok()) return s;
    findings_.use_server(place);
    return task.run(subject, findings_);
  }

  Status note_version(const Subject& subject, size_t place) {
    std::string& version = versions_[place];
    if (!version.empty()) return {};
    const Result<tool::StatsReply> stats = ask_stats(subject);
    if (!stats.ok()) return stats.status();
    const std::string& command = contenders_[place].launch.command;
    version = fmt::format("{}: {}version {}", subject.name, command.empty() ? "" : command + ", ",
                          tool::server_version(*stats).value_or("unknown"));
    return {};
  }

  void show(const std::string& text) const {
    if (!tool::is_quiet() && ::isatty(STDERR_FILENO) == 1) fmt::print(stderr, "\r\033[K{}", text);
  }

  const BenchOptions& options_;
  const std::vector<Contender> contenders_;
  const std::optional<common::TlsClient> tls_;
  const std::string token_;
  tool::StopSignals signals_;
  std::vector<std::string> versions_;
  Findings findings_;
};

Report describe(const BenchOptions& options, const std::vector<Contender>& contenders) {
  const Contender& first = contenders.front();
  Report report = {.machine = describe_machine(first.is_started ? first.launch.parent_dir : ""),
                   .versions = {},
                   .seed = options.seed,
                   .seconds = measured_seconds(options)};
  if (!first.launch.preload.empty())
    report.preload = fmt::format("{}, {} us", first.launch.preload, first.launch.preload_us);
  return report;
}

}  // namespace

Result<Report> measure(const BenchOptions& options) {
  const Result<std::vector<Task>> tasks = tasks_of(options);
  if (!tasks.ok()) return tasks.status();
  Result<std::vector<Contender>> contenders = contenders_of(options);
  if (!contenders.ok()) return contenders.take_status();
  if (Status s = check_tasks(*tasks, *contenders); !s.ok()) return s;
  Result<std::optional<common::TlsClient>> tls = common::TlsClient::load_if_on(options.tls);
  if (!tls.ok()) return tls.take_status();
  Result<std::string> token = tool::find_token(options.token_file);
  if (!token.ok()) return token.take_status();
  Report report = describe(options, *contenders);
  Run run(options, contenders.take(), tls.take(), token.take());
  for (const Task& task : *tasks) {
    report.rounds = std::max(report.rounds, rounds_of(task, options));
    if (Status s = run.run(task); !s.ok()) return s;
  }
  run.finish(report);
  return report;
}

Status bench(const BenchOptions& options) {
  if (options.list) {
    for (const Workload& workload : all_workloads())
      fmt::print("{:<14} {}\n", workload.name, workload.does);
    return {};
  }
  // Budgets and the plotter are checked first, so that an error in them does not cost a whole run.
  Result<std::vector<Budget>> budgets = std::vector<Budget>();
  if (!options.check.empty()) budgets = read_budgets(options.check);
  if (!budgets.ok()) return budgets.take_status();
  if (!options.plot.empty())
    if (Status s = check_plotter(); !s.ok()) return s;
  const Result<Report> report = measure(options);
  if (!report.ok()) return report.status();
  return deliver(options, *budgets, *report);
}

}  // namespace perennial::bench
