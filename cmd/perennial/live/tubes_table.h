#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/stats_reply.h"

namespace perennial::tool {

// One line a tube under a heading, and a line of totals; no line is longer than `columns`, as long
// as that is at least 80. What no server can tell (the age of the next ready job, which is
// perennial's own) has no column. Pure.
std::string tubes_table(const std::vector<StatsReply>& tubes, size_t columns);

}  // namespace perennial::tool
