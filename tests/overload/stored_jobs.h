#pragma once

#include <cstdint>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::overload {

// Makes a data directory with `count` jobs in tube default, all in this state, with bodies of eight
// bytes and ids from 1. Delayed jobs become ready all at once, `delay_s` after a server starts on
// them.
Status store_jobs(const std::string& path, uint64_t count, JobState state, uint32_t delay_s = 0);

}  // namespace perennial::overload
