#pragma once

#include <functional>
#include <string>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/stats_reply.h"
#include "engine/types/command.h"

// Jobs that have ended and that a tube keeps for a while.
namespace perennial::tool {

// Calls `take` for each that the tube keeps, the last one first, until it returns false.
Status each_ended(ServerConnection& server, const std::string& tube,
                  const std::function<bool(const StatsReply&)>& take);
// Whether the numbers that list-jobs tells of a job are in the ranges. It does not tell the
// timeouts, which are not compared.
bool fits(const StatsReply& job, const JobMatch& match);

}  // namespace perennial::tool
