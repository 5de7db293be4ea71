#pragma once

#include <string>

#include "cmd/common/tool/stats_reply.h"

// Statistics for people: related values in one block, and durations in words. Values that a server
// does not report are left out. Pure.
namespace perennial::tool {

std::string server_table(const StatsReply& stats);
std::string tube_table(const StatsReply& stats);
std::string job_table(const StatsReply& stats);

}  // namespace perennial::tool
