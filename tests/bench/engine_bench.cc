#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "engine/types/check.h"
#include "tests/bench/queue.h"
#include "tests/bench/registry.h"

namespace perennial::microbench {
namespace {

// How often a step is repeated before its effect is undone. The cost of stopping and starting the
// clock is divided by this number. No queue has fewer jobs.
constexpr uint32_t steps_count = 500;
constexpr uint32_t past_ttr_s = 61;
constexpr uint32_t delay_s = 10;

using Ids = std::vector<JobId>;

// A step of the engine: what is timed, and what runs before and after it. All three begin with the
// same tube, so that each job is used by the connection that has reserved it.
struct Step {
  const char* name;
  void (*before)(Queue&, Ids&);
  void (*timed)(Queue&, Ids&);
  void (*after)(Queue&, Ids&);
};

void put(Queue& queue, Ids& ids) {
  for (JobId& id : ids) id = queue.put();
}
void put_delayed(Queue& queue, Ids& ids) {
  for (JobId& id : ids) id = queue.put(delay_s);
}
void reserve(Queue& queue, Ids& ids) {
  for (JobId& id : ids) id = queue.reserve();
}
void remove(Queue& queue, Ids& ids) {
  for (const JobId id : ids) queue.remove(id);
}
void release(Queue& queue, Ids& ids) {
  for (const JobId id : ids) queue.release(id, 0);
}
void release_delayed(Queue& queue, Ids& ids) {
  for (const JobId id : ids) queue.release(id, delay_s);
}
void bury(Queue& queue, Ids& ids) {
  for (const JobId id : ids) queue.bury(id);
}
void kick_jobs(Queue& queue, Ids& ids) {
  for (const JobId id : ids) queue.kick_job(id);
}
void kick_ones(Queue& queue, Ids& ids) {
  for (size_t i = 0; i < ids.size(); ++i) queue.kick_one();
}
void touch(Queue& queue, Ids& ids) {
  for (const JobId id : ids) queue.touch(id);
}
void reserve_put_delete(Queue& queue, Ids& ids) {
  for (size_t i = 0; i < ids.size(); ++i) queue.reserve_put_delete();
}
void time_out(Queue& queue, Ids& ids) {
  CHECK(queue.advance_time(past_ttr_s) == ids.size());
}
void end_delays(Queue& queue, Ids& ids) {
  CHECK(queue.advance_time(delay_s) == ids.size());
}
void reserve_and_bury(Queue& queue, Ids& ids) {
  reserve(queue, ids);
  queue.rewind();
  bury(queue, ids);
}
void reserve_and_delay(Queue& queue, Ids& ids) {
  reserve(queue, ids);
  queue.rewind();
  release_delayed(queue, ids);
}
void put_and_reserve(Queue& queue, Ids& ids) {
  put(queue, ids);
  queue.rewind();
  reserve(queue, ids);
}
void nothing(Queue& /*queue*/, Ids& /*ids*/) {}

constexpr Step steps[] = {
    {"put", nothing, put, remove},
    {"put-delayed", nothing, put_delayed, remove},
    {"reserve", nothing, reserve, release},
    {"delete-reserved", put_and_reserve, remove, nothing},
    {"delete-ready", put, remove, nothing},
    {"release", reserve, release, nothing},
    {"release-delayed", reserve, release_delayed, end_delays},
    {"bury", reserve, bury, kick_jobs},
    {"kick-job", reserve_and_bury, kick_jobs, nothing},
    {"kick", reserve_and_bury, kick_ones, nothing},
    {"touch", reserve, touch, release},
    {"timeout", reserve, time_out, nothing},
    {"delay-ends", reserve_and_delay, end_delays, nothing},
    {"reserve-put-delete", nothing, reserve_put_delete, nothing},
};

void run_step(benchmark::State& state, const Step& step, Queues& queues) {
  Queue& queue =
      queues.of(static_cast<uint32_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
  Ids ids(steps_count);
  while (state.KeepRunningBatch(steps_count)) {
    state.PauseTiming();
    queue.rewind();
    step.before(queue, ids);
    queue.rewind();
    state.ResumeTiming();
    step.timed(queue, ids);
    state.PauseTiming();
    queue.rewind();
    step.after(queue, ids);
    state.ResumeTiming();
  }
}

}  // namespace

void register_engine(Queues& queues) {
  for (const Step& step : steps)
    benchmark::RegisterBenchmark(
        (std::string("engine/") + step.name).c_str(),
        [&step, &queues](benchmark::State& state) { run_step(state, step, queues); })
        ->ArgNames({"tubes", "jobs"})
        ->ArgsProduct({{1, 10'000}, {1'000, 1'000'000}});
}

}  // namespace perennial::microbench
