#pragma once

#include <string>

#include "engine/types/status.h"

namespace perennial::golden {

// Lists everything in a data directory, one line each. It does not use the output of any program,
// so that the listing beside a golden directory stays valid.
Result<std::string> list(const std::string& data_dir);

}  // namespace perennial::golden
