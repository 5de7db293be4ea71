#pragma once

#include "engine/types/status.h"
#include "store/format.h"

// The rows of meta that every database has. Each function is given an open database, and says what
// is wrong with the row if it cannot be had. Included by store's own files only.
namespace perennial::store {

class Database;

// Unsupported: the format is not the one that this program reads and writes.
Status check_version(const Database& db);
Result<CommitRow> read_commit(const Database& db);
// That of the row, or one more than the highest id of any job, whichever is higher.
Result<JobId> find_next_id(const Database& db);

}  // namespace perennial::store
