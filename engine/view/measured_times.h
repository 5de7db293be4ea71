#pragma once

#include <functional>
#include <map>
#include <string>

#include "engine/types/stats.h"

namespace perennial::engine {

// The waits and runs that are counted under one name: those of a tube, or of a group of tubes.
struct MeasuredTimes {
  bool is_group = false;
  TubeTimes times = {};
};
using TimesByName = std::map<std::string, MeasuredTimes, std::less<>>;

}  // namespace perennial::engine
