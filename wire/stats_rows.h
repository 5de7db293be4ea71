#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "engine/types/stats.h"

// The keys of stats, stats-tube and stats-job: one row for each, in the order in which they are
// sent. The formatter reads the rows, and a test compares etc/docs/protocol.md with them. The
// counters of commands have their rows in engine/types/command.h.
namespace perennial::wire {

// Clients take a key `version` for that of beanstalkd, and choose by it which commands they send.
inline constexpr std::string_view protocol_version = "1.13";

// Everything that stats reports. The referenced objects must outlive it.
struct StatsSources {
  const EngineStats& engine;
  const ProcessFacts& process;
  const StoreFacts& store;
};

// How a value is written.
enum class Form : uint8_t {
  Plain,
  Quoted,         // In double quotes.
  Name,           // In double quotes or without, as StatsStyle says.
  Seconds,        // A duration in whole seconds, rounded down.
  ProcessorTime,  // A duration in seconds, with six digits after the point.
  Hundredths,     // With two digits after the point.
};

using StatsValue = std::variant<uint64_t, int64_t, bool, double, std::string_view, std::string>;

template <typename Facts>
struct StatsRow {
  std::string_view key;
  Form form;
  StatsValue (*value)(const Facts&);
  std::string_view meaning;  // The text in the documents.
};

std::span<const StatsRow<JobStats>> job_rows();
std::span<const StatsRow<TubeStats>> tube_rows();
// The key that follows those of beanstalkd.
std::span<const StatsRow<TubeStats>> tube_own_rows();
// The keys that follow them where extensions are on. REQUIRES of the facts: they have `more`.
std::span<const StatsRow<JobStats>> job_more_rows();
std::span<const StatsRow<TubeStats>> tube_more_rows();
// The counters of beanstalkd's commands come between the first two, and those of this server's own
// commands after the last.
std::span<const StatsRow<StatsSources>> server_state_rows();
std::span<const StatsRow<StatsSources>> server_rows();
std::span<const StatsRow<StatsSources>> server_own_rows();
// The last keys of a server that is part of a cluster.
std::span<const StatsRow<ClusterStats>> cluster_rows();

}  // namespace perennial::wire
