#pragma once

#include <cstdint>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::overload {

// Makes a data directory with so many jobs in tube default, all in this state, with bodies of eight
// bytes, ids from 1.
Status store_jobs(const std::string& path, uint64_t count, JobState state);

}  // namespace perennial::overload
