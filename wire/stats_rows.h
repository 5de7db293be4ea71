#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "engine/types/stats.h"

// The keys of stats, stats-tube and stats-job: one row for each, in the order in which they are
// sent. The formatter walks them, and a test compares wire/README.md with them. The counters of
// commands have their rows in engine/types/command.h.
namespace perennial::wire {

// All that stats tells of. It outlives no call.
struct ServerFacts {
  const EngineStats& engine;
  const ProcessFacts& process;
  const StoreFacts& store;
};

// How a value is written.
enum class Form : uint8_t {
  Plain,
  Quoted,         // In double quotes, as 1.13 writes what a client or a host has named.
  Seconds,        // A duration; what is over whole seconds is cut off.
  ProcessorTime,  // A duration in seconds, with six digits after the point.
  Hundredths,     // With two digits after the point.
};

using StatsValue = std::variant<uint64_t, int64_t, bool, double, std::string_view>;

template <typename Facts>
struct StatsRow {
  std::string_view key;
  Form form;
  StatsValue (*value)(const Facts&);
  std::string_view meaning;  // As the documents say it.
};

std::span<const StatsRow<JobStats>> job_rows();
std::span<const StatsRow<TubeStats>> tube_rows();
// beanstalkd's commands have their counters between these two, and ours behind the second.
std::span<const StatsRow<ServerFacts>> server_state_rows();
std::span<const StatsRow<ServerFacts>> server_rows();

}  // namespace perennial::wire
