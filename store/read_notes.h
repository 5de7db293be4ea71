#pragma once

#include <vector>

#include <rocksdb/options.h>

#include "engine/types/basic.h"
#include "engine/types/note.h"
#include "engine/types/status.h"

// Included by store's own files only.
namespace perennial::store {

class Database;

// Store::read_notes(), with the snapshot and the readahead of `how`.
Result<std::vector<Note>> read_notes(const Database& db, rocksdb::ReadOptions how, JobId id);

}  // namespace perennial::store
