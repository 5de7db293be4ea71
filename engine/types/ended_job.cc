#include "engine/types/ended_job.h"

namespace perennial {

bool is_kept(const TubeSettings& settings, const EndedSpan& span, uint64_t place, Nanos at,
             Nanos now) {
  if (!keeps_ended(settings) || place < span.first || place >= span.next) return false;
  const bool is_young = !settings.keep || now - at < *settings.keep;
  return is_young && (!settings.keep_max || span.next - place <= *settings.keep_max);
}

}  // namespace perennial
