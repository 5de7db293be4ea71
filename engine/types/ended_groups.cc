#include "engine/types/ended_groups.h"

#include <algorithm>
#include <utility>

#include "engine/types/check.h"

namespace perennial {

KeptOfTube kept_of(std::string_view tube, const TubeSettings& settings, const EndedSpan& span,
                   Nanos now) {
  KeptOfTube kept = {.tube = std::string(tube), .span = span, .since = 0};
  if (!keeps_ended(settings)) kept.span.first = span.next;
  if (settings.keep_max && span.next - span.first > *settings.keep_max) {
    kept.span.first = span.next - *settings.keep_max;
  }
  if (settings.keep) kept.since = std::max<Nanos>(now - *settings.keep + 1, 0);
  return kept;
}

bool EndedGrouping::take(const EndedPosition& position, const EndedJob* job) {
  if (page_.looked_at == query_.jobs_max) return false;
  const bool fits =
      job != nullptr && query_.how.holds(job->how) && (!query_.user || *query_.user == job->user);
  if (fits && !add(*job)) return false;
  ++page_.looked_at;
  page_.next = position;
  return true;
}

// False: it would be the first one of a group too many.
bool EndedGrouping::add(const EndedJob& job) {
  const EndedGroup::End end = {.job = job.row.id, .at = job.at, .place = job.place};
  const auto [found, is_first] = oldest_.try_emplace({job.tube, job.how, job.user}, 0);
  const bool continues =
      !is_first && page_.groups[found->second].oldest.at - job.at <= ended_group_gap;
  if (continues) {
    EndedGroup& group = page_.groups[found->second];
    ++group.jobs;
    group.oldest = end;
    return true;
  }
  if (page_.groups.size() == query_.groups_max) return false;
  found->second = page_.groups.size();
  page_.groups.push_back({.tube = job.tube,
                          .how = job.how,
                          .user = job.user,
                          .jobs = 1,
                          .newest = end,
                          .oldest = end});
  return true;
}

EndedGroupsPage EndedGrouping::finish(bool is_end) {
  if (is_end) page_.next.reset();
  CHECK(is_end || page_.next.has_value());
  return std::exchange(page_, {});
}

}  // namespace perennial
