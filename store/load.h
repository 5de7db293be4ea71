#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include <absl/container/flat_hash_set.h>

#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/format/format.h"
#include "store/store.h"

// Included by store's own files only.
namespace perennial::store {

class Database;

// The tubes, pauses and numbers of other rows that a load has read.
struct Loaded {
  absl::flat_hash_set<TubeId> tubes;
  std::vector<TubePaused> pauses;
  std::array<uint64_t, job_states.size()> jobs = {};  // By state.
  uint64_t settings = 0;
  uint64_t keys = 0;
  uint64_t schedules = 0;
  uint64_t ended_tubes = 0;  // Tubes with jobs that have ended. Those jobs are not read.
};

// Passes the rows to the sink in the order of Store::load(). Corruption: a row contradicts the
// others. It reads no body, and does not compare the numbers of rows with those in the tables'
// properties.
Status load_rows(const Database& db, const LoadSink& sink, Loaded& loaded);
// Corruption: load_rows() has found fewer or more jobs than the tables of a state say, or a block
// of them is damaged, where the log has rows that they do not count.
Status check_states(const Database& db, const Loaded& loaded);
// Corruption: the tables of the family say that it has another number of rows than `found`, or a
// block of them is damaged, where the log has rows that they do not count. REQUIRES: the family is
// one of counted_families.
Status check_found(const Database& db, Family family, uint64_t found);
// Passes only the keys.
Status load_keys(const Database& db, const std::function<Status(const KeyStored&)>& take,
                 uint64_t& count);
// Passes only the schedules. Corruption: one of the two rows of a schedule is missing. A database
// of an earlier format has none.
Status load_schedules(
    const Database& db,
    const std::function<Status(const ScheduleStored&, std::string_view body)>& take,
    uint64_t& count);

}  // namespace perennial::store
