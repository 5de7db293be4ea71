#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/stats_reply.h"

namespace perennial::tool {

// What a server says of each of its tubes, sorted by name. Asks for many at once, so that ten
// thousand take no longer than a few round trips; one that has ended since the names were listed is
// left out.
Result<std::vector<StatsReply>> ask_all_tubes(ServerConnection& server);

// list-tubes, sorted.
Result<std::vector<std::string>> ask_tube_names(ServerConnection& server);

}  // namespace perennial::tool
