#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/stats_reply.h"
#include "cmd/perennial/monitor/thresholds.h"

// What a monitor is told of a server, by the rules of Nagios's plugins. Pure.
namespace perennial::tool {

// The numbers are the exit codes of a plugin.
enum class Level : uint8_t { Ok = 0, Warning = 1, Critical = 2, Unknown = 3 };

// What is held against limits. The first four are of a tube, the others of the server.
struct Limits {
  std::optional<Thresholds> oldest = {};  // Seconds.
  std::optional<Thresholds> ready = {};
  std::optional<Thresholds> buried = {};
  std::optional<Thresholds> dead = {};
  std::optional<Thresholds> damaged = Thresholds{.warning = 0};
  std::optional<Thresholds> checkpoint_age = {};  // Seconds.
  std::optional<Thresholds> disk_free = {};       // Bytes, and a value below is reported.
  std::optional<Thresholds> standby_lag = {};     // Of the leader of a cluster: entries.
};

// A value for the graphs of the monitor: that of the server, or of the tube where it is highest.
struct Measure {
  std::string name;
  uint64_t value = 0;
  enum class Unit : uint8_t { Count, Seconds, Bytes } unit = Unit::Count;
  Thresholds limits = {};
  bool is_low = false;  // A value below a limit is reported, and not one above.
  std::string tube = {};
};

struct Problem {
  Level level = Level::Ok;
  std::string what;  // The end of a line, without a full stop.
};

struct ServerHealth {
  Level level = Level::Ok;             // The worst.
  std::string summary;                 // For a server without a problem.
  std::vector<Problem> problems = {};  // The worst first.
  std::vector<Measure> measures = {};

  void add(Level of, std::string what);
};

// A server that could not be asked.
ServerHealth no_verdict(Level level, std::string why);
// `stats` and `tubes`: what the server says of itself, and of the tubes that are looked at. A tube
// of `wanted` that is not among them has no jobs.
ServerHealth judge(const StatsReply& stats, const std::vector<StatsReply>& tubes,
                   const std::vector<std::string>& wanted, const Limits& limits);

// One line: "PERENNIAL OK - what is there | oldest=12s;60;600 ...".
std::string verdict_line(const ServerHealth& verdict);
std::string verdict_json(const ServerHealth& verdict, const std::string& server);

}  // namespace perennial::tool
