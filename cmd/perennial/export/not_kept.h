#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/stats_reply.h"
#include "engine/types/extension.h"
#include "engine/types/status.h"

namespace perennial::tool {

// What the server that jobs leave has, and the one that gets them does not know. The jobs are not
// counted, because only stats-job of each of them says what it has.
struct NotKept {
  // What jobs may have: "keys", "tries and back-off". Empty: all is kept.
  std::vector<std::string> of_jobs = {};
  // Counted if the other server does not know them.
  uint64_t keys = 0;                    // Keys that jobs hold, or that are in a cooldown.
  uint64_t parked = 0;                  // Ready jobs whose concurrency key is full.
  std::vector<std::string> tubes = {};  // Tubes with settings that are lost.

  // Empty: nothing is lost. Otherwise one sentence.
  std::string sentence(const std::string& other, bool drops_options) const;
};

// `stats` and `tubes`: of the server that is left. Io: a value is not one of a Perennial.
Result<NotKept> not_kept(ExtensionSet here, ExtensionSet there, const StatsReply& stats,
                         const std::vector<StatsReply>& tubes);

}  // namespace perennial::tool
