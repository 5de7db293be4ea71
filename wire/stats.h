#pragma once

#include <string>

#include "engine/types/stats.h"

// The only formatter of statistics. Each function returns a whole YAML document: "---\n", then a
// line per key, in beanstalkd's order and then those of this server. Durations are in whole
// seconds, rounded down.
namespace perennial::wire {

std::string job_yaml(const JobStats& job);
std::string tube_yaml(const TubeStats& tube);
std::string server_yaml(const EngineStats& engine, const ProcessFacts& process,
                        const StoreFacts& store);

}  // namespace perennial::wire
