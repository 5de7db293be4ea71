// Fills a queue far beyond its memory limit and drains it.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cmd/perennial-bench/servers/footprint.h"
#include "cmd/perennial-bench/workloads/sliced_load.h"
#include "cmd/perennial-bench/workloads/tasks.h"

namespace perennial::bench {
namespace {

constexpr uint32_t drain_job_bytes = 1000;
constexpr uint64_t drain_jobs_default = 20'000'000;
constexpr uint64_t drain_jobs_quick = 400;
// How often the memory is read while the queue is filled.
constexpr uint64_t steps = 4;

Status note_memory(const Subject& subject, uint64_t jobs, Findings& findings) {
  const Result<uint64_t> bytes = resident_bytes(subject.started->pid());
  if (!bytes.ok()) return bytes.status();
  const std::string setting = jobs > 0 ? fmt::format("{} jobs", jobs) : "drained";
  const Topic topic = {"drain", setting, "resident"};
  findings.add_figure(topic, "resident", "bytes", static_cast<double>(*bytes));
  if (jobs > 0)
    findings.add_figure(topic, "resident a job", "bytes",
                        static_cast<double>(*bytes) / static_cast<double>(jobs));
  return {};
}

Status run_drain(Subject& subject, Findings& findings) {
  const BenchOptions& options = subject.options;
  const uint64_t jobs = at_most(options.quick ? drain_jobs_quick : drain_jobs_default, options);
  const auto topic = [jobs](Operation operation) {
    return Topic{"drain", fmt::format("{} jobs", jobs), std::string(name_of(operation))};
  };
  SlicedLoad filling(filling_spec(options, drain_job_bytes), subject.signals);
  if (Status s = filling.open(subject.target); !s.ok()) return s;
  filling.begin();
  for (uint64_t inside = 0, step = 1; step <= steps; ++step) {
    const uint64_t next = jobs * step / steps;
    if (Status s = filling.run_slice(next - std::exchange(inside, next)); !s.ok())
      return std::move(s).with("fill the server");
    if (Status s = note_memory(subject, inside, findings); !s.ok()) return s;
  }
  filling.report(topic(Operation::Put), Operation::Put, findings);
  SlicedLoad draining(draining_spec(options, drain_job_bytes), subject.signals);
  draining.use_tube(filling.tube());
  if (Status s = draining.open(subject.target); !s.ok()) return s;
  draining.begin();
  if (Status s = draining.run_slice(jobs); !s.ok()) return std::move(s).with("drain the server");
  draining.report(topic(Operation::ReserveDelete), Operation::ReserveDelete, findings);
  return note_memory(subject, 0, findings);
}

}  // namespace

std::vector<Task> drain_tasks(const BenchOptions&) {
  return {{.name = "drain",
           .fills = true,
           .needs_own_server = true,
           .connections = 40,
           .run = run_drain}};
}

}  // namespace perennial::bench
