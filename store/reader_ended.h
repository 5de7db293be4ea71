#pragma once

#include <functional>
#include <vector>

#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/types/damage.h"

// Included by store's own files only.
namespace perennial::store {

class Database;

// Passes the ended jobs of a database that is open to be read, in the order of ids: those that a
// start would keep. Damaged blocks cost what is in them. Corruption: ended jobs are missing,
// because a block of them is damaged, or for another reason; all others were passed. `damaged`:
// blocks of them and of their order that are on disk, which the database reads past. `known`: those
// that a store has noted, of all families. REQUIRES: the database has the family.
Status pass_ended(const Database& db, const std::vector<DamagedBlock>& damaged,
                  const std::vector<DamagedBlock>& known,
                  const std::function<Status(const EndedJob&)>& take);

}  // namespace perennial::store
