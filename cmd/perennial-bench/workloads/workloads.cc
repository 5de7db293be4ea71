#include "cmd/perennial-bench/workloads/workloads.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cmd/perennial-bench/command/workload_list.h"
#include "cmd/perennial-bench/workloads/tasks.h"
#include "engine/types/check.h"
#include "engine/types/command.h"

namespace perennial::bench {
namespace {

using Make = std::vector<Task> (*)(const BenchOptions&);

struct Maker {
  std::string_view workload;
  Make make;
};

constexpr std::string_view memory_name = "memory";
constexpr std::string_view restart_name = "restart";
constexpr std::string_view batch_name = "cycle-batch";
constexpr std::string_view custom_name = "custom";
constexpr std::string_view steady_name = "steady";

// The tasks of every workload except memory and restart, which share one filling: see filled_tasks.
constexpr Maker makers[] = {
    {"put", put_tasks},
    {"put-pipelined", put_pipelined_tasks},
    {"cycle", cycle_tasks},
    {"cycle-deep", cycle_deep_tasks},
    {batch_name, cycle_batch_tasks},
    {"latency", latency_tasks},
    {steady_name, steady_tasks},
    {"mixed", mixed_tasks},
    {"backlog", backlog_tasks},
    {"tubes", tubes_tasks},
    {"bodies", bodies_tasks},
    {"drain", drain_tasks},
    {"disk", disk_tasks},
    {custom_name, custom_tasks},
};

Make maker_of(std::string_view workload) {
  const auto* const found = std::ranges::find(makers, workload, &Maker::workload);
  CHECK(found != std::end(makers));
  return found->make;
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
    const bool known =
        word == all_name ||
        std::ranges::any_of(all_workloads(), [&word](const Workload& e) { return e.name == word; });
    if (!known)
      return {StatusCode::InvalidArgument,
              fmt::format("there is no workload '{}': --list names them", word)};
  }
  return {};
}

// InvalidArgument: the option is set and out of range.
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
    std::string_view of = all_name;  // The workload that the option is for.
  };
  const Number numbers[] = {{"--rounds", options.rounds, 1},
                            {"--jobs", options.jobs, 1},
                            {"--rate", options.rate, 1, steady_name},
                            {"--batch", options.batch, 2, batch_name},
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
  if (options.batch) {
    // The line of an item is shorter than this.
    constexpr uint64_t line_bytes = 64;
    const uint64_t bytes = *options.batch * (options.body_bytes + line_bytes);
    if (*options.batch > batch_count_max || bytes > put_batch_bytes_max)
      return {StatusCode::InvalidArgument,
              fmt::format("--batch {}: a batch has at most {} jobs and {} bytes", *options.batch,
                          batch_count_max, put_batch_bytes_max)};
  }
  // All requests in flight are kept in memory until they are sent.
  constexpr uint64_t bytes_max = uint64_t{4} << 30;
  const uint64_t each = options.body_bytes + uint64_t{256};
  if (custom && options.connections.value_or(50) * options.in_flight.value_or(1) > bytes_max / each)
    return {StatusCode::InvalidArgument,
            "more than 4 GiB would be in flight: fewer --connections, --in-flight or --body-bytes"};
  return {};
}

}  // namespace

Result<std::vector<Task>> tasks_of(const BenchOptions& options) {
  if (Status s = check_names(options); !s.ok()) return s;
  if (Status s = check_numbers(options); !s.ok()) return s;
  std::vector<Task> tasks;
  const auto add = [&tasks](std::vector<Task> more) {
    std::ranges::move(more, std::back_inserter(tasks));
  };
  for (const Workload& workload : all_workloads()) {
    const bool is_filled = workload.name == memory_name || workload.name == restart_name;
    if (!is_filled && is_wanted(workload.name, options)) add(maker_of(workload.name)(options));
  }
  const bool memory = is_wanted(memory_name, options);
  const bool restart = is_wanted(restart_name, options);
  if (memory || restart) add(filled_tasks(options, memory, restart));
  return tasks;
}

}  // namespace perennial::bench
