#include "cmd/perennial/live/top_sample.h"

#include <chrono>

#include "cmd/perennial/live/live.h"
#include "cmd/perennial/live/tube_stats.h"

namespace perennial::tool {

Result<TopSample> take_sample(ServerConnection& server) {
  TopSample sample;
  Result<StatsReply> stats = ask_stats(server, Stats{});
  if (!stats.ok()) return stats.take_status();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  sample.at = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  sample.server = stats.take();
  Result<std::vector<StatsReply>> tubes = ask_all_tubes(server);
  if (!tubes.ok()) return tubes.take_status();
  sample.tubes = tubes.take();
  return sample;
}

}  // namespace perennial::tool
