#include <memory>
#include <string>

#include <benchmark/benchmark.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

#include "engine/types/check.h"
#include "store/batch/batch.h"
#include "store/store.h"
#include "tests/bench/registry.h"
#include "tests/support/temp_dir.h"

namespace perennial::microbench {
namespace {

constexpr Nanos now = 1'700'000'000 * nanos_per_second;
constexpr size_t body_bytes = 128;

const std::string& body() {
  static const std::string bytes(body_bytes, 'x');
  return bytes;
}

JobMoved moved(JobId id, std::optional<JobState> before, std::optional<JobState> after) {
  JobMoved transition = {.id = id, .before = before, .after = {}, .promised = true};
  if (after)
    transition.after = JobRow{.id = id,
                              .state = *after,
                              .priority = 1024,
                              .ttr_s = 60,
                              .created = now,
                              .body_bytes = body_bytes};
  return transition;
}

// Adds `count` jobs from `first` on to a batch.
using Fill = void (*)(store::Batch& batch, JobId first, JobId count);

void fill_puts(store::Batch& batch, JobId first, JobId count) {
  for (JobId id = first; id < first + count; ++id)
    batch.add(moved(id, std::nullopt, JobState::Ready), body());
}
void fill_reserves(store::Batch& batch, JobId first, JobId count) {
  for (JobId id = first; id < first + count; ++id)
    batch.add(moved(id, JobState::Ready, JobState::Reserved));
}
void fill_deletes(store::Batch& batch, JobId first, JobId count) {
  for (JobId id = first; id < first + count; ++id)
    batch.add(moved(id, JobState::Reserved, std::nullopt));
}
// Each job is put, reserved and deleted within the batch, so that nothing is left to be written.
void fill_whole_lives(store::Batch& batch, JobId first, JobId count) {
  fill_puts(batch, first, count);
  fill_reserves(batch, first, count);
  fill_deletes(batch, first, count);
}

// Times the net effect of transitions. Clearing the batch for the next ones is part of the time.
void net_effect(benchmark::State& state, Fill fill) {
  const auto jobs = state.range(0);
  store::Batch batch;
  JobId first = 1;
  while (state.KeepRunningBatch(jobs)) {
    batch.clear();
    fill(batch, first, static_cast<JobId>(jobs));
    first += static_cast<JobId>(jobs);
    benchmark::DoNotOptimize(batch.jobs().data());
  }
  CHECK(batch.jobs().size() == static_cast<size_t>(jobs));
}

// A store in a temporary directory, which is removed with the object.
struct TemporaryStore {
  TemporaryStore() {
    Result<std::unique_ptr<store::Store>> opened =
        store::Store::open({.data_dir = dir.path() + "/data"});
    CHECK(opened.ok());
    store = opened.take();
  }
  void write(store::Batch& batch) {
    batch.seal({.epoch = 1, .index = ++index, .known_durable = 0, .now = now});
    const Status written = store->write(batch, false);
    CHECK(written.ok());
  }

  support::TempDir dir;
  std::unique_ptr<store::Store> store;
  BatchIndex index = 0;
};

// Measures how long RocksDB takes for the log and for the memtables. The rest of the time is that
// of this program and of RocksDB's WriteBatch.
class RocksTime {
 public:
  RocksTime() {
    rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableTimeExceptForMutex);
    rocksdb::get_perf_context()->Reset();
  }
  ~RocksTime() { rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable); }
  uint64_t log_ns() const { return rocksdb::get_perf_context()->write_wal_time; }
  uint64_t memtable_ns() const { return rocksdb::get_perf_context()->write_memtable_time; }
};

// Puts, reserves and deletes the same jobs, each in a batch of its own, and times one of the three.
// Nothing is synced, so that the result does not depend on the disk.
void write_batch(benchmark::State& state, size_t timed) {
  const auto jobs = state.range(0);
  constexpr Fill fills[] = {fill_puts, fill_reserves, fill_deletes};
  TemporaryStore target;
  store::Batch batch;
  JobId first = 1;
  uint64_t log_ns = 0;
  uint64_t memtable_ns = 0;
  while (state.KeepRunningBatch(jobs)) {
    for (size_t i = 0; i < std::size(fills); ++i) {
      state.PauseTiming();
      batch.clear();
      fills[i](batch, first, static_cast<JobId>(jobs));
      if (i != timed) target.write(batch);
      const RocksTime time;
      state.ResumeTiming();
      if (i == timed) target.write(batch);
      log_ns += time.log_ns();
      memtable_ns += time.memtable_ns();
    }
    first += static_cast<JobId>(jobs);
  }
  const auto per_job = static_cast<double>(state.iterations());
  state.counters["log_ns"] = static_cast<double>(log_ns) / per_job;
  state.counters["memtable_ns"] = static_cast<double>(memtable_ns) / per_job;
}

void add(const std::string& name, void (*run)(benchmark::State&, Fill), Fill fill) {
  benchmark::RegisterBenchmark(name.c_str(), run, fill)->Arg(1)->Arg(200)->Arg(10'000);
}

void add_write(const std::string& name, size_t timed) {
  benchmark::RegisterBenchmark(("batch/write/" + name).c_str(), write_batch, timed)
      ->Arg(1)
      ->Arg(200)
      ->Arg(5'000);
}

}  // namespace

void register_batches() {
  add("batch/add/puts", net_effect, fill_puts);
  add("batch/add/reserves", net_effect, fill_reserves);
  add("batch/add/whole-lives", net_effect, fill_whole_lives);
  add_write("puts", 0);
  add_write("reserves", 1);
  add_write("deletes", 2);
}

}  // namespace perennial::microbench
