#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "engine/types/check.h"
#include "store/format/format.h"
#include "tests/bench/registry.h"

namespace perennial::microbench {
namespace {

constexpr JobId some_id = 1'234'567;

JobRow some_row() {
  return {.id = some_id,
          .state = JobState::Ready,
          .tube = 7,
          .priority = 1024,
          .ttr_s = 60,
          .created = 1'700'000'000 * nanos_per_second,
          .reserves = 1,
          .body_bytes = 128};
}

void encode_key(benchmark::State& state) {
  JobId id = some_id;
  for (auto _ : state) {
    benchmark::DoNotOptimize(id);
    const auto key = store::job_key(id);
    benchmark::DoNotOptimize(key.data());
  }
}

void encode_row(benchmark::State& state) {
  JobRow row = some_row();
  for (auto _ : state) {
    benchmark::DoNotOptimize(row);
    const auto bytes = store::encode(row);
    benchmark::DoNotOptimize(store::view(bytes).data());
  }
}

void decode_row(benchmark::State& state) {
  const auto key = store::job_key(some_id);
  auto bytes = store::encode(some_row());
  for (auto _ : state) {
    benchmark::DoNotOptimize(bytes);
    const Result<JobRow> row =
        store::decode_job(JobState::Ready, store::view(key), store::view(bytes));
    CHECK(row.ok());
    benchmark::DoNotOptimize(row->id);
  }
}

void encode_commit(benchmark::State& state) {
  store::CommitRow row = {.epoch = 3, .index = 1'000, .known_durable = 999, .now = 1};
  for (auto _ : state) {
    benchmark::DoNotOptimize(row);
    const auto bytes = store::encode(row);
    benchmark::DoNotOptimize(bytes.data());
  }
}

void hash_body(benchmark::State& state) {
  std::string body(static_cast<size_t>(state.range(0)), 'x');
  for (auto _ : state) {
    benchmark::DoNotOptimize(body.data());
    const auto hash = store::body_hash(some_id, body);
    benchmark::DoNotOptimize(hash.data());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

}  // namespace

void register_rows() {
  benchmark::RegisterBenchmark("row/encode-key", encode_key);
  benchmark::RegisterBenchmark("row/encode-job", encode_row);
  benchmark::RegisterBenchmark("row/decode-job", decode_row);
  benchmark::RegisterBenchmark("row/encode-commit", encode_commit);
  benchmark::RegisterBenchmark("row/hash-body", hash_body)
      ->Arg(0)
      ->Arg(128)
      ->Arg(1024)
      ->Arg(65'536);
}

}  // namespace perennial::microbench
