#include "engine/types/transition.h"

namespace perennial {

bool is_of_schedule(const Transition& transition) {
  return std::holds_alternative<ScheduleStored>(transition) ||
         std::holds_alternative<ScheduleChanged>(transition) ||
         std::holds_alternative<ScheduleDeleted>(transition);
}

bool is_promised(const Transition& transition) {
  if (const auto* moved = std::get_if<JobMoved>(&transition)) return moved->promised;
  return std::holds_alternative<TubePaused>(transition) ||
         std::holds_alternative<NextIdRaised>(transition) ||
         std::holds_alternative<SettingsStored>(transition) || is_of_schedule(transition);
}

}  // namespace perennial
