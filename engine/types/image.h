#pragma once

#include <map>
#include <string>
#include <utility>

#include "engine/types/basic.h"
#include "engine/types/transition.h"

namespace perennial::engine {

// The part of the engine's state that is kept on disk. Engine::image(), folding all transitions,
// and loading what was stored give the same image. Tests compare the three.
struct Image {
  std::map<JobId, JobRow> jobs;
  std::map<TubeId, std::string> tubes;                            // The tubes that have a row.
  std::map<TubeId, std::pair<Nanos, Nanos>> pauses;               // Length and end.
  JobId id_limit = 1;                                             // See NextIdRaised.
  std::map<std::pair<std::string, std::string>, KeyStored> keys;  // By tube and key.
  std::map<std::string, TubeSettings> settings;                   // By the name of the tube.
  std::map<std::string, EndedSpan> ended;           // By the name of the tube; none is empty.
  std::map<std::string, ScheduleStored> schedules;  // By name.

  bool operator==(const Image&) const = default;
};

// Applies one transition. REQUIRES (and checks): the transition starts from the state that `image`
// has.
void fold(Image& image, const Transition& transition);

}  // namespace perennial::engine
