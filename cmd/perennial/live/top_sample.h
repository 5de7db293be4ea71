#pragma once

#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/common/tool/stats_reply.h"
#include "engine/types/basic.h"

namespace perennial::tool {

// The statistics of a server at one moment.
struct TopSample {
  Nanos at = 0;  // On a monotonic clock.
  StatsReply server;
  std::vector<StatsReply> tubes;  // Sorted by name.
};

Result<TopSample> take_sample(ServerConnection& server);

}  // namespace perennial::tool
