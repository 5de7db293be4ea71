#pragma once

#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/stats_reply.h"
#include "engine/types/basic.h"

namespace perennial::tool {

// What a server says of itself at one moment.
struct TopSample {
  Nanos at = 0;  // Of a clock that only runs forward.
  StatsReply server;
  std::vector<StatsReply> tubes;  // Sorted by name.
};

Result<TopSample> take_sample(ServerConnection& server);

}  // namespace perennial::tool
