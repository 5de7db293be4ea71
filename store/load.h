#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/format/format.h"
#include "store/store.h"

// Included by store's own files only.
namespace perennial::store {

class Database;

// What a load has met.
struct Loaded {
  absl::flat_hash_set<TubeId> tubes;
  std::vector<TubePaused> pauses;
  std::array<uint64_t, job_states.size()> jobs = {};  // By state.
};

// Gives back tubes, then pauses, then jobs, each by number. Refuses the first row that does not fit
// with the others, but reads no body and counts nothing against the tables.
Status load_rows(const Database& db, const LoadSink& sink, Loaded& loaded);

}  // namespace perennial::store
