#pragma once

#include <string>

#include "cmd/perennial-bench/load/load.h"
#include "cmd/perennial-bench/results/findings.h"
#include "cmd/perennial-bench/servers/clock.h"

namespace perennial::bench {

// A load that processes a number of jobs at a time and accumulates the results since begin().
class SlicedLoad {
 public:
  SlicedLoad(const LoadSpec& spec, tool::StopSignals& signals) : load_(spec, 0, signals) {}

  // The tube of the jobs: load.h.
  const std::string& tube() const { return load_.tube(); }
  void use_tube(const std::string& tube) { load_.use_tube(tube); }
  Status open(const Target& server) { return load_.open(server); }

  void begin() {
    load_.recorder().begin(now_nanos());
    took_ = cpu_ = 0;
  }

  Status run_slice(uint64_t jobs) {
    const Nanos cpu_before = own_cpu_time();
    const Nanos begun = now_nanos();
    Status s = load_.run_jobs(jobs);
    took_ += now_nanos() - begun;
    cpu_ += own_cpu_time() - cpu_before;
    return s;
  }

  Nanos took() const { return took_; }
  uint64_t count(Operation operation) { return load_.recorder().of(operation).count; }

  void report(const Topic& topic, Operation operation, Findings& findings) {
    Recorder::Entry entry = load_.recorder().of(operation);
    entry.timeline.clear();  // Other work lies between the slices.
    const auto took = static_cast<double>(took_);
    findings.add_rate(
        topic, entry,
        {.seconds = took / nanos_per_second, .client_cpu = static_cast<double>(cpu_) / took});
  }

 private:
  Load load_;
  Nanos took_ = 0;
  Nanos cpu_ = 0;
};

}  // namespace perennial::bench
