#include "engine/types/transition.h"

namespace perennial {

bool is_promised(const Transition& transition) {
  if (const auto* moved = std::get_if<JobMoved>(&transition)) return moved->promised;
  return std::holds_alternative<TubePaused>(transition) ||
         std::holds_alternative<NextIdRaised>(transition) ||
         std::holds_alternative<SettingsStored>(transition);
}

}  // namespace perennial
