#pragma once

#include <string>
#include <vector>

#include "cmd/perennial-bench/load/load.h"
#include "cmd/perennial-bench/workloads/workloads.h"

// The tasks that the workloads consist of.
namespace perennial::bench {

// A load that runs for the time in the options, after a short warm-up that is not measured.
struct TimedLoad {
  std::string workload;
  std::string setting = {};
  LoadSpec spec = {};
  std::vector<Operation> operations = {};  // The operations to report.
  uint64_t quick_count = 50;               // The minimum of the first operation in a quick run.
  uint64_t tubes = 0;  // Tubes that receive one job each before the load starts.
  uint64_t idle = 0;   // Idle connections during the load.
};
Task timed_task(TimedLoad load);

// Defined in timed.cc.
std::vector<Task> put_tasks(const BenchOptions& options);
std::vector<Task> put_pipelined_tasks(const BenchOptions& options);
std::vector<Task> cycle_tasks(const BenchOptions& options);
std::vector<Task> cycle_deep_tasks(const BenchOptions& options);
std::vector<Task> cycle_batch_tasks(const BenchOptions& options);
std::vector<Task> latency_tasks(const BenchOptions& options);
std::vector<Task> steady_tasks(const BenchOptions& options);
std::vector<Task> mixed_tasks(const BenchOptions& options);
std::vector<Task> tubes_tasks(const BenchOptions& options);
std::vector<Task> bodies_tasks(const BenchOptions& options);
std::vector<Task> custom_tasks(const BenchOptions& options);

// Defined in backlog.cc, filled.cc, drain.cc, disk.cc.
std::vector<Task> backlog_tasks(const BenchOptions& options);
// Memory and start are measured after the same filling.
std::vector<Task> filled_tasks(const BenchOptions& options, bool memory, bool restart);
std::vector<Task> drain_tasks(const BenchOptions& options);
std::vector<Task> disk_tasks(const BenchOptions& options);

// This many jobs, or the limit in the options if that is lower.
uint64_t at_most(uint64_t jobs, const BenchOptions& options);

// The loads that put jobs, or reserve and delete them, as fast as possible.
LoadSpec filling_spec(const BenchOptions& options, uint32_t body_bytes);
LoadSpec draining_spec(const BenchOptions& options, uint32_t body_bytes);

// Puts jobs as fast as possible into a new tube, whose name is returned.
Result<std::string> fill(Subject& subject, uint64_t jobs, uint32_t body_bytes);

}  // namespace perennial::bench
