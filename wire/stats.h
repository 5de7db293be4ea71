#pragma once

#include <string>

#include "engine/types/stats.h"

// The only formatter of statistics. Each function returns a whole YAML document: "---\n", then a
// line per key, in beanstalkd's order and then those of this server. Durations are in whole
// seconds, rounded down.
namespace perennial::wire {

// What differs between versions of beanstalkd, and what clients of beanstalkd may stumble over.
struct StatsStyle {
  // Names of tubes, the host and the system in double quotes: beanstalkd 1.13 has them, and 1.12
  // and earlier have not.
  bool quotes_names = true;
  // The keys that beanstalkd does not have.
  bool has_own_keys = true;
};

std::string job_yaml(const JobStats& job, StatsStyle style = {});
std::string tube_yaml(const TubeStats& tube, StatsStyle style = {});
std::string server_yaml(const EngineStats& engine, const ProcessFacts& process,
                        const StoreFacts& store, StatsStyle style = {});

}  // namespace perennial::wire
