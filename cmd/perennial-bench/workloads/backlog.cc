// The cost of a put, and of a reserve with its delete, while many jobs wait.

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cmd/perennial-bench/workloads/sliced_load.h"
#include "cmd/perennial-bench/workloads/tasks.h"

namespace perennial::bench {
namespace {

// Puts and deletes alternate so that the size of the backlog stays constant. A slice is this many
// jobs, or half of the backlog if that is less.
constexpr uint64_t slice_jobs_max = 5000;

std::vector<uint64_t> sizes_of(const BenchOptions& options) {
  std::vector<uint64_t> sizes = {10'000, 1'000'000, 10'000'000};
  if (options.quick) sizes = {100, 300};
  for (uint64_t& size : sizes) size = at_most(size, options);
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

void report(SlicedLoad& load, const std::string& setting, Operation operation, Findings& findings) {
  const Topic topic = {"backlog", setting, std::string(name_of(operation))};
  load.report(topic, operation, findings);
  const auto took_us = static_cast<double>(load.took()) / 1000;
  findings.add_figure(topic, "cost", "us", took_us / static_cast<double>(load.count(operation)));
}

Status run_slices(SlicedLoad& put, SlicedLoad& take, uint64_t slice, Nanos duration) {
  do {
    if (Status s = put.run_slice(slice); !s.ok()) return s;
    if (Status s = take.run_slice(slice); !s.ok()) return s;
  } while (std::min(put.took(), take.took()) < duration);
  return {};
}

Status run_backlog(Subject& subject, Findings& findings) {
  const BenchOptions& options = subject.options;
  const uint32_t clients = options.quick ? 5 : 50;
  const auto seconds = options.quick ? 0 : measured_seconds(options);
  const LoadSpec putting = {
      .producers = clients, .body_bytes = options.body_bytes, .seed = options.seed};
  const LoadSpec taking = {
      .workers = clients, .body_bytes = options.body_bytes, .seed = options.seed};
  Load fill(filling_spec(options, options.body_bytes), 0, subject.signals);
  SlicedLoad put(putting, subject.signals);
  SlicedLoad take(taking, subject.signals);
  put.use_tube(fill.tube());
  take.use_tube(fill.tube());
  if (Status s = fill.open(subject.target); !s.ok()) return s;
  if (Status s = put.open(subject.target); !s.ok()) return s;
  if (Status s = take.open(subject.target); !s.ok()) return s;
  uint64_t inside = 0;
  for (const uint64_t size : sizes_of(options)) {
    if (Status s = fill.run_jobs(size - std::exchange(inside, size)); !s.ok()) return s;
    const uint64_t slice = std::clamp(size / 2, uint64_t{1}, slice_jobs_max);
    // The first slices are not measured.
    if (Status s = run_slices(put, take, slice, 0); !s.ok()) return s;
    put.begin();
    take.begin();
    const auto duration = static_cast<Nanos>(seconds * nanos_per_second);
    if (Status s = run_slices(put, take, slice, duration); !s.ok()) return s;
    const std::string setting = fmt::format("{} jobs", size);
    report(put, setting, Operation::Put, findings);
    report(take, setting, Operation::ReserveDelete, findings);
  }
  return {};
}

}  // namespace

std::vector<Task> backlog_tasks(const BenchOptions&) {
  return {{.name = "backlog", .fills = true, .connections = 108, .run = run_backlog}};
}

}  // namespace perennial::bench
