#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/stats_reply.h"

namespace perennial::tool {

// A heading, one line for each tube, and a line of totals. No line is longer than `columns` if that
// is at least 80. A value that no server reports (the age of the oldest ready job is perenniald's
// own) has no column, and parked jobs have one only where there are some. Pure.
std::string tubes_table(const std::vector<StatsReply>& tubes, size_t columns);
// The same with more columns, in lines of any length.
std::string wide_tubes_table(const std::vector<StatsReply>& tubes);

}  // namespace perennial::tool
