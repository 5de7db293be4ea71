#pragma once

#include <string_view>

#include "cmd/perennial-bench/results/operation.h"
#include "engine/types/basic.h"

namespace perennial::bench {

// Whether this is an answer that the operation may get while nothing is wrong.
bool is_expected(Operation operation, std::string_view line);

// The job's number in RESERVED; 0 if there is none.
JobId job_of(std::string_view line);

}  // namespace perennial::bench
