#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/format/format.h"

// The outcome of a start that accepts a loss, before it changes anything: recovery/README.md,
// "Forced starts". Included by store's own files only.
namespace perennial::store {

class Database;
struct LoadSink;

struct ForcedOutcome {
  struct JobPlace {
    JobId id = 0;
    JobState state = JobState::Ready;
  };

  // What is loaded.
  std::array<uint64_t, job_states.size()> jobs = {};
  uint64_t tubes = 0;
  uint64_t keys = 0;
  uint64_t schedules = 0;
  // What is left out, and removed, because the tables of bodies are further than the others. A job
  // without a body was deleted behind the cut, and a body without a job was put there. A job that
  // has ended and is kept has a body, too.
  std::vector<JobPlace> deleted_later;
  std::vector<KeyStored> keys_of_deleted;
  std::vector<JobId> put_later;
  // Ended jobs without a body, which have gone behind the cut.
  std::vector<EndedOrder> ended_gone_later;
  // Keys of notes: of jobs that are left out, and those that jobs do not count yet.
  std::vector<std::string> notes_written_later;

  // The fields of the event that announces the outcome.
  std::string fields() const;
  absl::flat_hash_set<JobId> left_out() const;
};

// Loads the rows of a database that is open as the start will leave it. With `compares_bodies` it
// reads all bodies, too. Corruption: the start would refuse to load the rows.
Result<ForcedOutcome> foresee(const Database& view, bool compares_bodies);

// Passes on the rows that the start will load.
Status load_foreseen(const Database& view, bool compares_bodies, const LoadSink& sink);

}  // namespace perennial::store
