#include <cstdint>
#include <fstream>
#include <memory>

#include <benchmark/benchmark.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/types/check.h"
#include "tests/bench/registry.h"

namespace perennial::microbench {
namespace {

constexpr Nanos start = 1'700'000'000 * nanos_per_second;
constexpr uint64_t jobs = 1'000'000;
// The documented bound of memory for a job, whatever ids the jobs have.
constexpr uint64_t bytes_a_job_max = 200;

uint64_t resident_bytes() {
  uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Makes an engine as it is after a long time: one job of `spacing` ids is left, and is buried.
std::unique_ptr<engine::Engine> make_survivors(JobId spacing) {
  auto engine = std::make_unique<engine::Engine>(engine::Limits{});
  CHECK(engine->restore_tube(0, "default").ok());
  for (uint64_t i = 1; i <= jobs; ++i) {
    const JobRow row = {
        .id = i * spacing, .state = JobState::Buried, .ttr_s = 60, .order = i, .body_bytes = 128};
    CHECK(engine->restore_job(row, start).ok());
  }
  engine::Output out;
  CHECK(engine->finish_restore((jobs + 1) * spacing, start, out).ok());
  engine->apply({.now = start, .conn = 1, .event = engine::Opened{}}, out);
  return engine;
}

// Times how a job is found, in a scattered order of ids. Reports the memory for each job: as the
// engine counts it, and as the system does.
void find(benchmark::State& state) {
  const auto spacing = static_cast<JobId>(state.range(0));
  const uint64_t before = resident_bytes();
  const auto engine = make_survivors(spacing);
  const uint64_t resident = resident_bytes() - before;
  engine::Output out;
  uint64_t i = 0;
  for (auto _ : state) {
    i = (i + 618'033) % jobs;
    out.clear();
    engine->apply({.now = start, .conn = 1, .event = Command{Peek{(i + 1) * spacing}}}, out);
    CHECK(std::holds_alternative<JobReply>(out.replies[0].reply));
  }
  state.counters["counted"] = static_cast<double>(engine->view().memory_bytes()) / jobs;
  state.counters["resident"] = static_cast<double>(resident) / jobs;
  if (engine->view().memory_bytes() > jobs * bytes_a_job_max)
    state.SkipWithError("over 200 bytes a job");
}

}  // namespace

void register_survivors() {
  benchmark::RegisterBenchmark("engine/survivors", find)
      ->ArgName("one-of")
      ->Arg(1)
      ->Arg(16)
      ->Arg(256)
      ->Arg(65'536);
}

}  // namespace perennial::microbench
