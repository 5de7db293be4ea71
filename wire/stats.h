#pragma once

#include <string>

#include "engine/types/stats.h"

// The only formatter of statistics. Each gives a whole YAML document: "---\n", then a line per key,
// in beanstalkd's order and then ours. Durations are in whole seconds, what is over is cut off.
namespace perennial::wire {

std::string job_yaml(const JobStats& job);
std::string tube_yaml(const TubeStats& tube);
std::string server_yaml(const EngineStats& engine, const ProcessFacts& process,
                        const StoreFacts& store);

}  // namespace perennial::wire
