#include "engine/containers/job.h"

#include <algorithm>

namespace perennial::engine {

JobRow to_row(const Job& job) {
  const bool ordered = job.state == JobState::Delayed || job.state == JobState::Buried;
  return {.id = job.id,
          .state = job.state,
          .tube = job.tube,
          .priority = job.priority,
          .delay_s = job.delay_s,
          .ttr_s = job.ttr_s,
          .created = job.created,
          .order = ordered ? job.order : 0,
          .reserves = job.reserves,
          .timeouts = job.timeouts,
          .releases = job.releases,
          .buries = job.buries,
          .kicks = job.kicks,
          .body_bytes = job.body_bytes};
}

Job from_row(const JobRow& row) {
  return {.id = row.id,
          .created = row.created,
          .order = row.order,
          .tube = row.tube,
          .priority = row.priority,
          .delay_s = row.delay_s,
          .ttr_s = row.ttr_s,
          .body_bytes = row.body_bytes,
          .reserves = row.reserves,
          .timeouts = row.timeouts,
          .releases = row.releases,
          .buries = row.buries,
          .kicks = row.kicks,
          .heap_index = not_in_heap,
          .state = row.state};
}

bool is_matched(const Job& job, const JobMatch& match, Nanos now) {
  const auto age = static_cast<uint64_t>(std::max<Nanos>(now - job.created, 0) / nanos_per_second);
  return match.of(JobNumber::Age).admits(age) &&
         match.of(JobNumber::Priority).admits(job.priority) &&
         match.of(JobNumber::Reserves).admits(job.reserves) &&
         match.of(JobNumber::Timeouts).admits(job.timeouts);
}

}  // namespace perennial::engine
