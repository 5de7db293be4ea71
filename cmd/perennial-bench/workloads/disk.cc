// The disk space that a server uses after its jobs are deleted.

#include <algorithm>

#include <fmt/format.h>
#include <unistd.h>

#include "cmd/perennial-bench/servers/clock.h"
#include "cmd/perennial-bench/servers/footprint.h"
#include "cmd/perennial-bench/servers/prepare.h"
#include "cmd/perennial-bench/servers/stopping.h"
#include "cmd/perennial-bench/workloads/tasks.h"

namespace perennial::bench {
namespace {

constexpr uint64_t disk_jobs_default = 1'000'000;
constexpr uint64_t disk_jobs_quick = 300;
// The longest wait for the directory to shrink, and how long its size must be unchanged.
constexpr Nanos patience = 60 * nanos_per_second;
constexpr Nanos calm = 15 * nanos_per_second;
constexpr uint32_t look_us = 250'000;

// Waits until the directory no longer shrinks and returns its size.
Result<DiskBytes> bytes_at_rest(const Subject& subject) {
  const Nanos begun = now_nanos();
  Nanos changed = begun;
  DiskBytes before;
  for (;;) {
    const Result<DiskBytes> bytes = disk_bytes(subject.started->dir());
    if (!bytes.ok()) return bytes.status();
    const Nanos now = now_nanos();
    if (bytes->used != before.used) changed = now;
    before = *bytes;
    const bool is_over = now - begun >= patience || now - changed >= calm;
    if (subject.options.quick || is_over) return before;
    if (Status s = check_stop(subject.signals); !s.ok()) return s;
    ::usleep(look_us);
  }
}

Status drain(Subject& subject, const std::string& tube, uint64_t jobs) {
  const BenchOptions& options = subject.options;
  Load load(draining_spec(options, options.body_bytes), 0, subject.signals);
  load.use_tube(tube);
  if (Status s = load.open(subject.target); !s.ok()) return s;
  return load.run_jobs(jobs);
}

Status run_disk(bool bury_one, Subject& subject, Findings& findings) {
  const BenchOptions& options = subject.options;
  if (bury_one)
    if (Status s = bury_one_job(subject.target, options.body_bytes); !s.ok()) return s;
  const uint64_t jobs = at_most(options.quick ? disk_jobs_quick : disk_jobs_default, options);
  const Result<std::string> tube = fill(subject, jobs, options.body_bytes);
  if (!tube.ok()) return tube.status();
  if (Status s = drain(subject, *tube, jobs); !s.ok()) return s;
  const Result<DiskBytes> bytes = bytes_at_rest(subject);
  if (!bytes.ok()) return bytes.status();
  const Topic topic = {"disk", bury_one ? "one buried job" : "drained", "disk"};
  findings.add_figure(topic, "disk", "bytes", static_cast<double>(bytes->used));
  if (bytes->ballast > 0)
    findings.add_figure(topic, "ballast", "bytes", static_cast<double>(bytes->ballast));
  return {};
}

}  // namespace

std::vector<Task> disk_tasks(const BenchOptions&) {
  std::vector<Task> tasks;
  for (const bool bury_one : {false, true})
    tasks.push_back({.name = bury_one ? "disk, one buried job" : "disk, drained",
                     .fills = true,
                     .needs_own_server = true,
                     .connections = 40,
                     .run = [bury_one](Subject& subject, Findings& findings) {
                       return run_disk(bury_one, subject, findings);
                     }});
  return tasks;
}

}  // namespace perennial::bench
