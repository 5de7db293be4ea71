#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/stats_reply.h"

namespace perennial::tool {

// The statistics of all tubes, sorted by name. Pipelines the requests, so that ten thousand tubes
// take a few round trips. A tube that ended after the names were listed is left out.
Result<std::vector<StatsReply>> ask_all_tubes(ServerConnection& server);

// The reply to list-tubes, sorted.
Result<std::vector<std::string>> ask_tube_names(ServerConnection& server);

}  // namespace perennial::tool
