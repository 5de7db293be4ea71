#pragma once

#include <map>
#include <string>
#include <utility>

#include "engine/types/basic.h"
#include "engine/types/transition.h"

namespace perennial::engine {

// What of the engine's state is kept on disk. The engine gives it, folding its transitions gives
// the same, and so does loading what was stored: tests compare the three.
struct Image {
  std::map<JobId, JobRow> jobs;
  std::map<TubeId, std::string> tubes;               // Those with a job or a pause.
  std::map<TubeId, std::pair<Nanos, Nanos>> pauses;  // Length and end.
  JobId id_limit = 1;                                // See NextIdRaised.

  bool operator==(const Image&) const = default;
};

// Applies one transition. REQUIRES (and checks): it starts from the state that `image` is in.
void fold(Image& image, const Transition& transition);

}  // namespace perennial::engine
