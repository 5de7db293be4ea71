#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/body.h"
#include "engine/types/ended_job.h"
#include "engine/types/note.h"

// What is asked for jobs that have ended, and what is found: Store::read_ended(). Whether a tube
// still keeps them is for the caller to say: is_kept().
namespace perennial::store {

struct EndedFound {
  EndedJob job = {};
  std::optional<Body> body = {};  // None: it was not asked for, or it is damaged or missing.
  std::vector<Note> notes = {};   // The oldest first. Those that can be read.
};

struct EndedQuery {
  std::string tube = {};
  // The oldest first: the first place. The newest first: the place behind the first; 0: all places.
  uint64_t from = 0;
  bool newest_first = false;
  size_t jobs_max = 0;     // At least 1.
  uint64_t bytes_max = 0;  // Of bodies, if they are asked for. One job is passed in any case.
  bool with_bodies = false;
  bool with_notes = false;
  Nanos since = 0;  // Since the epoch. Jobs that ended before are left out.
};

struct EndedPage {
  std::vector<EndedFound> jobs = {};
  uint64_t next_place = 0;  // EndedQuery::from of the query that goes on.
  bool is_end = false;      // There are no more.
};

}  // namespace perennial::store
