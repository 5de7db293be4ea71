#pragma once

#include <string_view>

#include "cmd/perennial-bench/results/operation.h"
#include "engine/types/basic.h"

namespace perennial::bench {

// Whether a correct server may give this answer to the operation.
bool is_expected(Operation operation, std::string_view line);

// The id of the job in RESERVED, or 0.
JobId job_of(std::string_view line);

}  // namespace perennial::bench
