#include <memory>

#include <benchmark/benchmark.h>

#include "cmd/perennial-bench/results/latencies.h"
#include "engine/types/check.h"
#include "tests/bench/registry.h"

namespace perennial::microbench {
namespace {

constexpr Nanos longest = 1 << 22;  // 4 ms.

void add(benchmark::State& state) {
  const auto latencies = std::make_unique<bench::Latencies>();
  Nanos duration = 1;
  for (auto _ : state) {
    duration = duration * 5 % longest + 1;
    latencies->add(duration);
  }
  CHECK(latencies->total() == static_cast<uint64_t>(state.iterations()));
}

void read(benchmark::State& state) {
  const auto latencies = std::make_unique<bench::Latencies>();
  for (Nanos duration = 1; duration < longest; duration += 1000) latencies->add(duration);
  for (auto _ : state) benchmark::DoNotOptimize(latencies->at(0.999));
}

}  // namespace

void register_latencies() {
  benchmark::RegisterBenchmark("latencies/add", add);
  benchmark::RegisterBenchmark("latencies/at", read);
}

}  // namespace perennial::microbench
