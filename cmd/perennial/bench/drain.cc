// A queue that is filled far past the memory that it may take, and drained.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cmd/perennial/bench/clock.h"
#include "cmd/perennial/bench/footprint.h"
#include "cmd/perennial/bench/tasks.h"

namespace perennial::bench {
namespace {

constexpr uint32_t job_bytes = 1000;
constexpr uint64_t jobs_default = 20'000'000;
constexpr uint64_t jobs_quick = 400;
// How often the memory is looked at on the way up.
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

// Works off some jobs, and reports as the rate of `operation` what was done since the load began.
class Stage {
 public:
  explicit Stage(Load& load) : load_(load) { load_.recorder().begin(now_nanos()); }

  Status run(uint64_t jobs) {
    const Nanos cpu_before = own_cpu_time();
    const Nanos begun = now_nanos();
    Status s = load_.run_jobs(jobs);
    took_ += now_nanos() - begun;
    cpu_ += own_cpu_time() - cpu_before;
    return s;
  }

  void report(uint64_t jobs, Operation operation, Findings& findings) {
    Recorder::Entry entry = load_.recorder().of(operation);
    entry.timeline.clear();
    const auto took = static_cast<double>(took_);
    findings.add_rate(
        {"drain", fmt::format("{} jobs", jobs), std::string(name_of(operation))}, entry,
        {.seconds = took / nanos_per_second, .client_cpu = static_cast<double>(cpu_) / took});
  }

 private:
  Load& load_;
  Nanos took_ = 0;
  Nanos cpu_ = 0;
};

Status run_drain(Subject& subject, Findings& findings) {
  const BenchOptions& options = subject.options;
  const uint64_t jobs = at_most(options.quick ? jobs_quick : jobs_default, options);
  Load filling(filling_spec(options, job_bytes), 0, subject.signals);
  if (Status s = filling.open(subject.address); !s.ok()) return s;
  Stage up(filling);
  for (uint64_t inside = 0, step = 1; step <= steps; ++step) {
    const uint64_t next = jobs * step / steps;
    if (Status s = up.run(next - std::exchange(inside, next)); !s.ok())
      return std::move(s).with("fill the server");
    if (Status s = note_memory(subject, inside, findings); !s.ok()) return s;
  }
  up.report(jobs, Operation::Put, findings);
  Load draining(draining_spec(options, job_bytes), 0, subject.signals);
  draining.use_tube(filling.tube());
  if (Status s = draining.open(subject.address); !s.ok()) return s;
  Stage down(draining);
  if (Status s = down.run(jobs); !s.ok()) return std::move(s).with("drain the server");
  down.report(jobs, Operation::ReserveDelete, findings);
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
