#pragma once

#include <cstdint>

#include "engine/types/basic.h"
#include "engine/types/boxed.h"
#include "engine/types/job_fields.h"

namespace perennial {

// A job as it is stored: everything that the engine needs to rebuild the job, and only the size of
// the body.
struct JobRow {
  JobId id = 0;
  JobState state = JobState::Ready;
  TubeId tube = 0;
  uint32_t priority = 0;
  uint32_t delay_s = 0;  // From the last put or release; a kick does not change it.
  uint32_t ttr_s = 0;    // At least 1, but 0 if ttr is below a second: JobFields.
  Nanos created = 0;
  // Of a delayed job: when it becomes ready, in nanoseconds since the epoch. Of a buried job: its
  // place in the bury order, which is one sequence over all tubes. Of a ready job: since when it is
  // ready, in nanoseconds since the epoch, or 0: since its put if it was never delayed, reserved,
  // buried or kicked, and otherwise it is not known. Of a reserved job 0.
  uint64_t order = 0;
  uint32_t reserves = 0;
  uint32_t timeouts = 0;
  uint32_t releases = 0;
  uint32_t buries = 0;
  uint32_t kicks = 0;
  uint32_t body_bytes = 0;       // The size of what the client sent, without the CRLF.
  Boxed<JobFields> fields = {};  // Never there without a field that is set.

  bool operator==(const JobRow&) const = default;
};

}  // namespace perennial
