#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/types/transition.h"
#include "store/format/format.h"

// Decides from what can be read of a damaged database whether a job exists, and where. A pure
// function, which knows no file.
namespace perennial::store {

// What can be read about one key of a family, and what may be hidden in parts that cannot be read.
// A time is the sequence number of an entry plus one, and 0 if there is none.
struct KeyTrace {
  enum class Newest : uint8_t { None, Put, Removal };
  Newest newest = Newest::None;
  uint64_t newest_time = 0;
  uint64_t put_time = 0;     // Of the newest put, which a newer entry may have removed.
  uint64_t hidden_time = 0;  // The latest time of an entry that may be there and cannot be read.
  // Nothing that is left is a put: `put_time` is that of a put in an earlier copy of the database.
  // Where the damage may hide that put, it counts as the newest entry.
  bool is_of_copy = false;
  // The newest entry is one of the copy's log, which the damaged log has lost. What came after it
  // may be lost, too.
  bool is_of_lost_log = false;

  bool is_put() const { return newest == Newest::Put; }
  bool may_hide_newer() const { return hidden_time > newest_time || (is_of_copy && is_put()); }
};

struct JobFinding {
  enum class Fate : uint8_t {
    Absent,   // There is no such job.
    Found,    // Its row can be read.
    RowLost,  // There is a body and no row that can be read.
  };
  Fate fate = Fate::Absent;
  JobState state = JobState::Ready;  // The family whose row to take.
  // The job may be in another state, or it may have been deleted.
  bool is_uncertain = false;
  // A newer row of the same state may be hidden: other fields of the job may have changed.
  bool may_be_older = false;
};

// `states` is in the order of job_states.
//
// A job that may exist is kept, because one that is done twice can be found out later, and one that
// is lost cannot be. Of several rows that could be the job's, one that nothing hidden can have
// removed counts, and otherwise the newest.
JobFinding find_job(const std::array<KeyTrace, job_states.size()>& states, const KeyTrace& body);

}  // namespace perennial::store
