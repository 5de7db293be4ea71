#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "engine/types/basic.h"
#include "engine/types/status.h"

// P3: an id is never used twice. A database whose history was truncated, or that was restored from
// a checkpoint, does not know which ids were given out afterwards. Its next id is therefore raised
// far beyond any id that can have been given out. An id costs nothing, whatever its size.
namespace perennial::store {

// More puts a second than any server takes.
inline constexpr uint64_t ids_per_second_max = 400'000;
// More ids than a queue gives out in a month at that rate: for a history of unknown length.
inline constexpr uint64_t skipped_ids = uint64_t{1} << 40;
// At least so many are skipped, because two clocks differ.
inline constexpr uint64_t skipped_ids_min = uint64_t{1} << 24;
// Clients that keep an id in a signed number of 32 bits cannot finish a job from here on.
inline constexpr JobId id_limit_32_bits = uint64_t{1} << 31;
// Ids stay below 2^53, because JavaScript's numbers are exact only up to there. That allows 8,191
// skips in the life of a database, and 2^40 ids before the first and after each.
inline constexpr JobId id_limit = uint64_t{1} << 53;

// How many ids are skipped if the next id was known `age` ago. A skip that is no larger than needed
// leaves the ids of a small queue below id_limit_32_bits for as long as possible. A negative age is
// a clock that was wrong.
inline uint64_t skipped_ids_after(Nanos age) {
  if (age < 0) return skipped_ids;
  const uint64_t seconds = static_cast<uint64_t>(age) / nanos_per_second + 1;
  if (seconds >= skipped_ids / ids_per_second_max) return skipped_ids;
  return std::max(seconds * ids_per_second_max, skipped_ids_min);
}

// Returns the next id after a skip of `count` ids. A database that imported jobs with ids above
// id_limit continues above the limit. InvalidArgument: there are not so many ids left.
inline Result<JobId> skip_ids(JobId next_id, uint64_t count = skipped_ids) {
  const JobId limit = next_id < id_limit ? id_limit : std::numeric_limits<JobId>::max();
  if (count < limit - next_id) return next_id + count;
  return Status(StatusCode::InvalidArgument,
                "no ids are left: the next one is " + std::to_string(next_id) +
                    "; dump the jobs, and load them into a new data directory");
}

}  // namespace perennial::store
