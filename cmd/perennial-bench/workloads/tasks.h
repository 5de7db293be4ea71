#pragma once

#include <string>
#include <vector>

#include "cmd/perennial-bench/load/load.h"
#include "cmd/perennial-bench/workloads/workloads.h"

// The tasks that the workloads consist of.
namespace perennial::bench {

// A load that works for the time that the options name, after a little that is not measured.
struct TimedLoad {
  std::string workload;
  std::string setting = {};
  LoadSpec spec = {};
  std::vector<Operation> operations = {};  // What is reported.
  uint64_t quick_count = 50;               // Of the first: so many at least in a quick run.
  uint64_t tubes = 0;                      // That have a job each, before it begins.
  uint64_t idle = 0;                       // Connections that say nothing meanwhile.
};
Task timed_task(TimedLoad load);

// timed.cc
std::vector<Task> put_tasks(const BenchOptions& options);
std::vector<Task> put_pipelined_tasks(const BenchOptions& options);
std::vector<Task> cycle_tasks(const BenchOptions& options);
std::vector<Task> cycle_deep_tasks(const BenchOptions& options);
std::vector<Task> latency_tasks(const BenchOptions& options);
std::vector<Task> steady_tasks(const BenchOptions& options);
std::vector<Task> mixed_tasks(const BenchOptions& options);
std::vector<Task> tubes_tasks(const BenchOptions& options);
std::vector<Task> bodies_tasks(const BenchOptions& options);
std::vector<Task> custom_tasks(const BenchOptions& options);

// backlog.cc, filled.cc, drain.cc, disk.cc
std::vector<Task> backlog_tasks(const BenchOptions& options);
// Memory and start share one filling.
std::vector<Task> filled_tasks(const BenchOptions& options, bool memory, bool restart);
std::vector<Task> drain_tasks(const BenchOptions& options);
std::vector<Task> disk_tasks(const BenchOptions& options);

// So many jobs, or as many as the options allow.
uint64_t at_most(uint64_t jobs, const BenchOptions& options);

// The loads that put jobs, and that reserve and delete them, as fast as it can be done.
LoadSpec filling_spec(const BenchOptions& options, uint32_t body_bytes);
LoadSpec draining_spec(const BenchOptions& options, uint32_t body_bytes);

// Puts jobs as fast as it can be done, into a tube of their own, which it gives.
Result<std::string> fill(Subject& subject, uint64_t jobs, uint32_t body_bytes);

}  // namespace perennial::bench
