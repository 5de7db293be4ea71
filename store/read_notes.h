#pragma once

#include <vector>

#include <rocksdb/options.h>

#include "engine/types/basic.h"
#include "engine/types/note.h"
#include "engine/types/status.h"

// Included by store's own files only.
namespace perennial::store {

class Database;

// The notes of a job that can be read, the oldest first, and what is wrong with each other row.
struct NotesFound {
  std::vector<Note> notes;
  std::vector<Status> problems;
};

// Reads with the snapshot and the readahead of `how`. Sets `is_of_table` if a table could not be
// read: TableErrors. Corruption, Io: a row may be there that cannot be read.
Result<NotesFound> read_notes(const Database& db, rocksdb::ReadOptions how, JobId id,
                              bool& is_of_table);

}  // namespace perennial::store
