#include "engine/job.h"

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

}  // namespace perennial::engine
