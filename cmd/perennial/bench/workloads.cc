#include "cmd/perennial/bench/workloads.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cmd/perennial/bench/tasks.h"

namespace perennial::bench {
namespace {

using Make = std::vector<Task> (*)(const BenchOptions&);

struct Entry {
  Workload workload;
  Make make;  // None for memory and restart: see filled_tasks.
};

constexpr std::string_view memory_name = "memory";
constexpr std::string_view restart_name = "restart";
constexpr std::string_view custom_name = "custom";
constexpr std::string_view steady_name = "steady";

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = {
      {{"put", "puts from 50 and from 200 connections, one in flight each"}, put_tasks},
      {{"put-pipelined", "puts from 8 connections, 64 in flight each"}, put_pipelined_tasks},
      {{"cycle", "put, reserve, delete: 25 producers and 25 workers, one in flight each"},
       cycle_tasks},
      {{"cycle-deep",
        "the same with 8 producers, 32 in flight each, and 32 workers that reserve "
        "ahead"},
       cycle_deep_tasks},
      {{"latency", "one connection that puts, one in flight"}, latency_tasks},
      {{steady_name,
        "50 connections that put 20,000 a second together (--rate), each timed from when it was "
        "due"},
       steady_tasks},
      {{"mixed",
        "50 connections that put, reserve, delete, release, bury, kick and peek, drawn by "
        "weights"},
       mixed_tasks},
      {{"backlog",
        "the cost of a put, and of a reserve with its delete, while 10 thousand, 1 "
        "million and 10 million jobs wait"},
       backlog_tasks},
      {{"tubes",
        "put and cycle with 10,000 tubes and 10,000 idle connections, against one tube "
        "and none"},
       tubes_tasks},
      {{"bodies", "puts of 64 B, 1 KB, 16 KB and 64 KB from 50 connections"}, bodies_tasks},
      {{memory_name, "resident bytes of a server that holds 3 million jobs of 1,000 bytes"},
       nullptr},
      {{restart_name, "seconds from its exec to its first answer, after kill -9 with as many jobs"},
       nullptr},
      {{"drain",
        "20 million jobs of 1,000 bytes put and then reserved and deleted, as fast as it goes, and "
        "what the server holds resident meanwhile"},
       drain_tasks},
      {{"disk",
        "bytes on disk within a minute after a million jobs were put and deleted, and the same "
        "with one old buried job left behind"},
       disk_tasks},
      {{custom_name, "puts with --connections, --in-flight, --tubes and --idle of your own"},
       custom_tasks},
  };
  return all;
}

bool is_wanted(std::string_view name, const BenchOptions& options) {
  const auto named = [&options](std::string_view word) {
    return std::ranges::find(options.workloads, word) != options.workloads.end();
  };
  const bool all = named(all_name) || (options.workloads.empty() && options.quick);
  if (all && name != custom_name) return true;
  return named(name) || (options.workloads.empty() && !options.quick && name == "put");
}

Status check_names(const BenchOptions& options) {
  for (const std::string& word : options.workloads) {
    const bool known = word == all_name || std::ranges::any_of(entries(), [&word](const Entry& e) {
                         return e.workload.name == word;
                       });
    if (!known)
      return {StatusCode::InvalidArgument,
              fmt::format("there is no workload '{}': --list names them", word)};
  }
  return {};
}

// InvalidArgument when it is there and out of range.
Status check_range(const char* flag, const std::optional<uint64_t>& value, uint64_t lowest) {
  constexpr uint64_t highest = 1'000'000'000;
  if (!value || (*value >= lowest && *value <= highest)) return {};
  return {StatusCode::InvalidArgument,
          fmt::format("{} {}: must be {} to {}", flag, *value, lowest, highest)};
}

Status check_numbers(const BenchOptions& options) {
  struct Number {
    const char* flag;
    const std::optional<uint64_t>& value;
    uint64_t lowest;
    std::string_view of = all_name;  // The workload that it is for.
  };
  const Number numbers[] = {{"--rounds", options.rounds, 1},
                            {"--jobs", options.jobs, 1},
                            {"--rate", options.rate, 1, steady_name},
                            {"--connections", options.connections, 1, custom_name},
                            {"--in-flight", options.in_flight, 1, custom_name},
                            {"--tubes", options.tubes, 0, custom_name},
                            {"--idle", options.idle, 0, custom_name}};
  const bool custom = is_wanted(custom_name, options);
  for (const Number& number : numbers) {
    if (Status s = check_range(number.flag, number.value, number.lowest); !s.ok()) return s;
    if (number.of != all_name && number.value && !is_wanted(number.of, options))
      return {
          StatusCode::InvalidArgument,
          fmt::format("{} is for the workload {}: the others know theirs", number.flag, number.of)};
  }
  // Everything in flight is held in memory until it is sent.
  constexpr uint64_t bytes_max = uint64_t{4} << 30;
  const uint64_t each = options.body_bytes + uint64_t{256};
  if (custom && options.connections.value_or(50) * options.in_flight.value_or(1) > bytes_max / each)
    return {StatusCode::InvalidArgument,
            "more than 4 GiB would be in flight: fewer --connections, --in-flight or --body-bytes"};
  return {};
}

}  // namespace

std::vector<Workload> all_workloads() {
  std::vector<Workload> workloads;
  for (const Entry& entry : entries()) workloads.push_back(entry.workload);
  return workloads;
}

Result<std::vector<Task>> tasks_of(const BenchOptions& options) {
  if (Status s = check_names(options); !s.ok()) return s;
  if (Status s = check_numbers(options); !s.ok()) return s;
  std::vector<Task> tasks;
  const auto add = [&tasks](std::vector<Task> more) {
    std::ranges::move(more, std::back_inserter(tasks));
  };
  for (const Entry& entry : entries())
    if (entry.make != nullptr && is_wanted(entry.workload.name, options)) add(entry.make(options));
  const bool memory = is_wanted(memory_name, options);
  const bool restart = is_wanted(restart_name, options);
  if (memory || restart) add(filled_tasks(options, memory, restart));
  return tasks;
}

}  // namespace perennial::bench
