#pragma once

#include <string>

#include "engine/types/status.h"

namespace perennial::golden {

// All that is in a data directory, one line for each thing. Independent of any program's output, so
// that what is written down beside a golden directory stays true.
Result<std::string> list(const std::string& data_dir);

}  // namespace perennial::golden
