#pragma once

#include <string>

#include "cmd/common/tool/stats_reply.h"

// Statistics as a person reads them: what belongs together in one block, durations in words. What a
// server does not have is not shown. Pure.
namespace perennial::tool {

std::string server_table(const StatsReply& stats);
std::string tube_table(const StatsReply& stats);
std::string job_table(const StatsReply& stats);

}  // namespace perennial::tool
