// microbench [--benchmark_filter=REGEX] [--benchmark_min_time=SECONDS]: see tests/README.md. Exits
// with 1 unless every benchmark that was selected has run to its end.

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/bench/queue.h"
#include "tests/bench/registry.h"

namespace perennial::microbench {
namespace {

// Prints results like ConsoleReporter, and records the names of the benchmarks that ran. A repeated
// benchmark is recorded once.
class RecordingReporter : public benchmark::ConsoleReporter {
 public:
  RecordingReporter() : ConsoleReporter(OO_Tabular) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      const bool whole = !run.error_occurred && run.iterations > 0;
      if (run.run_type == Run::RT_Iteration) (whole ? done_ : failed_).insert(run.run_name.str());
    }
    ConsoleReporter::ReportRuns(runs);
  }
  size_t done() const { return done_.size(); }
  size_t failed() const { return failed_.size(); }

 private:
  std::set<std::string> done_;
  std::set<std::string> failed_;
};

int run() {
  Queues queues;
  register_parser();
  register_replies();
  register_engine(queues);
  register_survivors();
  register_rows();
  register_batches();
  register_latencies();
  RecordingReporter reporter;
  const size_t wanted = benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  if (wanted > 0 && reporter.done() == wanted && reporter.failed() == 0) return 0;
  std::fprintf(stderr, "microbench: of %zu to run, %zu ran and %zu failed\n", wanted,
               reporter.done(), reporter.failed());
  return 1;
}

}  // namespace
}  // namespace perennial::microbench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  return perennial::microbench::run();
}
