// The resident memory of a full server, and the time of its restart after kill -9.

#include <utility>

#include <fmt/format.h>

#include "cmd/perennial-bench/servers/footprint.h"
#include "cmd/perennial-bench/workloads/tasks.h"

namespace perennial::bench {
namespace {

constexpr uint32_t filled_job_bytes = 1000;
constexpr uint64_t filled_jobs_default = 3'000'000;
constexpr uint64_t filled_jobs_quick = 300;

struct Filled {
  uint64_t jobs;
  bool memory;
  bool restart;
};

Status measure_memory(const Topic& topic, const Subject& subject, Findings& findings) {
  const Result<uint64_t> bytes = resident_bytes(subject.started->pid());
  if (!bytes.ok()) return bytes.status();
  findings.add_figure(topic, "resident", "bytes", static_cast<double>(*bytes));
  return {};
}

// Also reports how many jobs are missing, because a server that restarts empty is fast.
Status measure_start(const Topic& topic, uint64_t jobs, Subject& subject, Findings& findings) {
  const Result<Nanos> took = subject.started->kill_and_restart(subject.signals);
  if (!took.ok()) return took.status();
  const Result<tool::StatsReply> stats = ask_stats(subject);
  if (!stats.ok()) return stats.status();
  const uint64_t found = stats->count("current-jobs-ready");
  findings.add_figure(topic, "start", "s", static_cast<double>(*took) / nanos_per_second);
  findings.add_figure(topic, "lost", "jobs",
                      static_cast<double>(jobs) - static_cast<double>(found));
  return {};
}

Status run_filled(const Filled& filled, Subject& subject, Findings& findings) {
  const std::string setting = fmt::format("{} jobs", filled.jobs);
  const Result<std::string> tube = fill(subject, filled.jobs, filled_job_bytes);
  if (!tube.ok()) return tube.status();
  if (filled.memory)
    if (Status s = measure_memory({"memory", setting, "resident"}, subject, findings); !s.ok())
      return s;
  if (!filled.restart) return {};
  return measure_start({"restart", setting, "start"}, filled.jobs, subject, findings);
}

}  // namespace

std::vector<Task> filled_tasks(const BenchOptions& options, bool memory, bool restart) {
  const Filled filled = {
      .jobs = at_most(options.quick ? filled_jobs_quick : filled_jobs_default, options),
      .memory = memory,
      .restart = restart};
  return {{.name = memory && restart ? "memory and restart" : (memory ? "memory" : "restart"),
           .fills = true,
           .needs_own_server = true,
           .connections = 8,
           .run = [filled](Subject& subject, Findings& findings) {
             return run_filled(filled, subject, findings);
           }}};
}

}  // namespace perennial::bench
