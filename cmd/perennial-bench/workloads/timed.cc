// Workloads that run for a given time.

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "cmd/perennial-bench/servers/clock.h"
#include "cmd/perennial-bench/servers/prepare.h"
#include "cmd/perennial-bench/workloads/tasks.h"

namespace perennial::bench {
namespace {

Nanos warm_up_of(const BenchOptions& options) {
  return options.quick ? nanos_per_second / 50 : nanos_per_second / 2;
}

// A quick run uses fewer connections.
uint32_t scaled(uint32_t count, const BenchOptions& options) {
  return options.quick ? (count + 9) / 10 : count;
}

LoadSpec base_spec(const BenchOptions& options) {
  return {.body_bytes = options.body_bytes, .seed = options.seed};
}

TimedLoad put_load(const BenchOptions& options, std::string workload, uint32_t producers,
                   uint32_t in_flight) {
  TimedLoad load = {.workload = std::move(workload),
                    .setting = fmt::format("{}x{}", producers, in_flight),
                    .spec = base_spec(options),
                    .operations = {Operation::Put}};
  load.spec.producers = producers;
  load.spec.in_flight = in_flight;
  return load;
}

// Whether the server has the commands that the load sends.
Result<bool> is_possible(const TimedLoad& timed, const Subject& subject) {
  if (timed.spec.batch == 1) return true;
  const Result<ExtensionSet> allowed = ask_extensions(subject);
  if (!allowed.ok()) return allowed.status();
  return allowed->allows(Extension::Batch);
}

Status run_timed(const TimedLoad& timed, Subject& subject, Findings& findings) {
  const Result<bool> possible = is_possible(timed, subject);
  if (!possible.ok() || !*possible) return possible.ok() ? Status() : possible.status();
  if (timed.tubes > 0)
    if (Status s = fill_tubes(subject.target, timed.tubes, timed.spec.body_bytes, subject.signals);
        !s.ok())
      return std::move(s).with("fill tubes");
  const Result<std::vector<common::ClientStream>> idle =
      open_idle(subject.target, timed.idle, subject.signals);
  if (!idle.ok()) return idle.status();
  const Nanos duration = static_cast<Nanos>(measured_seconds(subject.options) * nanos_per_second);
  Load load(timed.spec, duration, subject.signals);
  if (Status s = load.open(subject.target); !s.ok()) return s;
  if (Status s = load.run_for(warm_up_of(subject.options)); !s.ok()) return s;
  const Nanos cpu_before = own_cpu_time();
  const Nanos begun = now_nanos();
  const uint64_t at_least = subject.options.quick ? timed.quick_count : 0;
  if (Status s = load.run_for(duration, timed.operations.front(), at_least); !s.ok()) return s;
  const auto took = static_cast<double>(now_nanos() - begun);
  const Effort effort = {.seconds = took / nanos_per_second,
                         .client_cpu = static_cast<double>(own_cpu_time() - cpu_before) / took};
  for (const Operation operation : timed.operations)
    findings.add_rate({timed.workload, timed.setting, std::string(name_of(operation))},
                      load.recorder().of(operation), effort);
  return {};
}

}  // namespace

Task timed_task(TimedLoad load) {
  const LoadSpec& spec = load.spec;
  return {.name = load.workload + " " + load.setting,
          .connections = load.idle + spec.producers + spec.workers + spec.mixed + spec.cyclers,
          .run = [load = std::move(load)](Subject& subject, Findings& findings) {
            return run_timed(load, subject, findings);
          }};
}

std::vector<Task> put_tasks(const BenchOptions& options) {
  std::vector<Task> tasks;
  for (const uint32_t producers : {50, 200})
    tasks.push_back(timed_task(put_load(options, "put", scaled(producers, options), 1)));
  return tasks;
}

std::vector<Task> put_pipelined_tasks(const BenchOptions& options) {
  return {
      timed_task(put_load(options, "put-pipelined", scaled(8, options), options.quick ? 8 : 64))};
}

std::vector<Task> cycle_tasks(const BenchOptions& options) {
  TimedLoad load = {.workload = "cycle",
                    .spec = base_spec(options),
                    .operations = {Operation::Cycle, Operation::Put, Operation::Delete}};
  load.spec.producers = load.spec.workers = scaled(25, options);
  load.setting = fmt::format("{}+{}", load.spec.producers, load.spec.workers);
  return {timed_task(std::move(load))};
}

std::vector<Task> cycle_deep_tasks(const BenchOptions& options) {
  TimedLoad load = {.workload = "cycle-deep",
                    .spec = base_spec(options),
                    .operations = {Operation::Cycle, Operation::Put, Operation::Delete}};
  load.spec.producers = scaled(8, options);
  load.spec.in_flight = options.quick ? 4 : 32;
  load.spec.workers = scaled(32, options);
  load.spec.reserve_ahead = true;
  load.setting =
      fmt::format("{}x{}+{}", load.spec.producers, load.spec.in_flight, load.spec.workers);
  return {timed_task(std::move(load))};
}

std::vector<Task> cycle_batch_tasks(const BenchOptions& options) {
  const auto batch = static_cast<uint32_t>(options.batch.value_or(options.quick ? 10 : 100));
  const uint32_t connections = options.quick ? 2 : 8;
  TimedLoad load = {
      .workload = "cycle-batch",
      .setting = "1x1",
      .spec = base_spec(options),
      .operations = {Operation::Cycle, Operation::Put, Operation::Reserve, Operation::Delete}};
  load.spec.cyclers = 1;
  std::vector<Task> tasks = {timed_task(load)};
  load.operations = {Operation::Cycle, Operation::PutBatch, Operation::ReserveBatch,
                     Operation::DeleteBatch};
  load.spec.batch = batch;
  for (const uint32_t cyclers : {1U, connections}) {
    load.spec.cyclers = cyclers;
    load.setting = fmt::format("{}x{}", cyclers, batch);
    tasks.push_back(timed_task(load));
  }
  return tasks;
}

std::vector<Task> latency_tasks(const BenchOptions& options) {
  return {timed_task(put_load(options, "latency", 1, 1))};
}

std::vector<Task> steady_tasks(const BenchOptions& options) {
  constexpr uint64_t usual_rate = 20'000;
  const uint64_t rate = options.rate.value_or(options.quick ? usual_rate / 10 : usual_rate);
  TimedLoad load = put_load(options, "steady", scaled(50, options), 1);
  load.spec.rate = static_cast<uint32_t>(rate);
  load.setting = fmt::format("{}/s", rate);
  return {timed_task(std::move(load))};
}

std::vector<Task> mixed_tasks(const BenchOptions& options) {
  TimedLoad load = {
      .workload = "mixed",
      .spec = base_spec(options),
      .operations = {Operation::All, Operation::Put, Operation::Poll, Operation::Delete,
                     Operation::Release, Operation::Bury, Operation::Kick, Operation::Peek}};
  load.spec.mixed = scaled(50, options);
  load.quick_count = 1000;  // Enough for each kind of operation to occur.
  load.setting = fmt::format("{}x1", load.spec.mixed);
  return {timed_task(std::move(load))};
}

std::vector<Task> tubes_tasks(const BenchOptions& options) {
  const uint64_t many = options.quick ? 50 : 10'000;
  const uint32_t producers = scaled(50, options);
  TimedLoad one = put_load(options, "tubes", producers, 1);
  one.setting = "1 tube";
  TimedLoad crowded = put_load(options, "tubes", producers, 1);
  crowded.setting = fmt::format("{} tubes, {} idle", many, many);
  crowded.tubes = crowded.idle = many;
  std::vector<Task> tasks;
  for (TimedLoad* load : {&one, &crowded}) {
    tasks.push_back(timed_task(*load));
    load->spec.producers = load->spec.workers = (producers + 1) / 2;
    load->operations = {Operation::Cycle};
    tasks.push_back(timed_task(*load));
  }
  return tasks;
}

std::vector<Task> bodies_tasks(const BenchOptions& options) {
  struct Size {
    const char* name;
    uint32_t bytes;
  };
  // The last size is the default maximum of beanstalkd and perenniald.
  constexpr Size sizes[] = {{"64 B", 64}, {"1 KB", 1024}, {"16 KB", 16'384}, {"64 KB", 65'535}};
  std::vector<Task> tasks;
  for (const Size& size : sizes) {
    TimedLoad load = put_load(options, "bodies", scaled(50, options), 1);
    load.setting = size.name;
    load.spec.body_bytes = size.bytes;
    tasks.push_back(timed_task(std::move(load)));
  }
  return tasks;
}

std::vector<Task> custom_tasks(const BenchOptions& options) {
  TimedLoad load =
      put_load(options, "custom", static_cast<uint32_t>(options.connections.value_or(50)),
               static_cast<uint32_t>(options.in_flight.value_or(1)));
  load.tubes = options.tubes.value_or(0);
  load.idle = options.idle.value_or(0);
  if (load.tubes > 0) load.setting += fmt::format(", {} tubes", load.tubes);
  if (load.idle > 0) load.setting += fmt::format(", {} idle", load.idle);
  return {timed_task(std::move(load))};
}

}  // namespace perennial::bench
