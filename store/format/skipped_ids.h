#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"

// P3: an id is never used twice. A database whose history was cut, or that was restored from a
// checkpoint, does not know which ids were given out since, so its next id moves far beyond any
// that can have been. An id costs nothing, whatever its size.
namespace perennial::store {

// More than a queue gives out in a month at 400,000 puts a second.
inline constexpr uint64_t skipped_ids = uint64_t{1} << 40;
// Ids stay below 2^53, because JavaScript counts no further: there are 8,191 skips in the life of a
// database, and 2^40 ids before the first and behind each.
inline constexpr JobId id_limit = uint64_t{1} << 53;

// A database whose jobs came from elsewhere with ids above the limit goes on above it.
// InvalidArgument: there is no such id.
inline Result<JobId> skip_ids(JobId next_id, uint64_t count = skipped_ids) {
  const JobId limit = next_id < id_limit ? id_limit : std::numeric_limits<JobId>::max();
  if (count < limit - next_id) return next_id + count;
  return Status(StatusCode::InvalidArgument,
                "no ids are left: the next one is " + std::to_string(next_id) +
                    "; dump the jobs, and load them into a new data directory");
}

}  // namespace perennial::store
