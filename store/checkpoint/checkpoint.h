#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/stats.h"
#include "engine/types/status.h"
#include "store/format/format.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

// Checkpoints: copies of the database in directories of their own, made while the server runs.
//
// NAME/db holds the database. Its tables are hard links, which take no space until the server
// deletes its own. NAME/manifest.json lists the files and names the database. A partial checkpoint,
// one that is not yet complete and verified, is called NAME.DATABASE.partial. The next server and
// prune remove partial checkpoints that a crash left.
//
// A temporary checkpoint belongs to one connection. It is created and never completed: it is called
// NAME.DATABASE.temporary, has no manifest, and is never listed or counted. One that a crash left
// is removed like a partial checkpoint.
namespace perennial::store {

// A file of the database, as it was when the checkpoint was completed.
struct CheckpointFile {
  std::string name;  // Relative to db/.
  uint64_t bytes = 0;
  std::string hash;  // XXH3, 128 bits, in hexadecimal.

  bool operator==(const CheckpointFile&) const = default;
};

struct CheckpointTube {
  std::string name;
  StateCounts jobs = {};  // `urgent` is always 0.
  uint64_t body_bytes = 0;
};

// What manifest.json says.
struct CheckpointManifest {
  std::string name;
  Nanos created = 0;           // Since the epoch.
  std::string server_version;  // The version of the program that made it.
  std::string database = {};   // The identity of the copied database: identity.h. Empty: not known.
  uint32_t format = 0;         // The format on disk: format.h.
  CommitRow commit = {};       // The commit row of the last batch in it.
  JobId next_id = 1;
  StateCounts jobs = {};                   // `urgent` is 0.
  std::vector<CheckpointTube> tubes = {};  // Sorted by name.
  std::vector<CheckpointFile> files = {};  // Sorted by name.
  // Whether its rows were read. False if the program that made it can only migrate from its format,
  // or has left that to the node that it was sent to. Then next_id, jobs and tubes are not known,
  // and of commit the index at most; 0: not known, either.
  bool has_counts = true;

  uint64_t bytes() const;  // The sum of all files.
  uint64_t job_count() const;
};

// What the server knows of a checkpoint when it creates it. complete_checkpoint() compares it with
// the copy.
struct CheckpointPlan {
  std::string dir;   // The directory of checkpoints: checkpoint_dir.
  std::string name;  // checkpoint_name().
  Nanos created = 0;
  bool temporary = false;
  std::string server_version = {};
  std::string database = {};  // The identity of the database: identity.h. Empty: not known.
  BatchIndex index = 0;       // The index of the last batch in it.
  // The engine's count at the checkpoint point; `urgent` is 0.
  std::optional<StateCounts> jobs = {};
  // The format of the database, where this program does not serve it: then only files and checksums
  // are checked. A copy of a format that it serves says itself which one that is.
  uint32_t format = format_base;
  // complete_checkpoint() calls this every few milliseconds. If it returns true,
  // complete_checkpoint() stops and removes the checkpoint. It must be safe to call on the thread
  // that completes.
  std::function<bool()> cancelled = {};
  rocksdb::Env* env = nullptr;  // The file system, the machine's if null.
};

// Returns the name of a checkpoint: the time in UTC to a millisecond, so that names sort by age:
// "2026-11-21T12-40-05.123Z".
std::string checkpoint_name(Nanos now);
std::string partial_path(const CheckpointPlan& plan);

// Completes a partial checkpoint. Store::create_checkpoint (store.h) has made partial_path() and
// its db/ before, on the thread that writes and between two batches, which takes milliseconds. This
// function may run on any other thread. It hashes the files, checks RocksDB's checksums, opens the
// copy, counts the rows of all jobs, writes the manifest, syncs, and renames. REQUIRES: the
// checkpoint is not temporary. Corruption: the copy is not what the plan says. Io: the disk failed,
// or the work was cancelled. NoSpace: no space for the manifest. After an error the partial
// checkpoint is removed, unless the disk refuses that, too.
Result<CheckpointManifest> complete_checkpoint(const CheckpointPlan& plan);

// Returns the manifest of a partial checkpoint that is sent to another node and not completed here:
// its files with their sizes. The sender adds the hashes while it reads them, and reads no rows:
// the other node does, before it uses any.
Result<CheckpointManifest> list_partial_checkpoint(const CheckpointPlan& plan);

// Reads and checks only manifest.json. NotFound: `path` is no checkpoint, or a partial one.
// Corruption: the manifest is invalid, or a byte of it was changed. Unsupported: a newer program
// wrote it.
Result<CheckpointManifest> read_checkpoint(const std::string& path, rocksdb::Env* env = nullptr);
// Does the same and hashes every file. A changed byte, a missing file and an extra file are each
// Corruption that names the file. If this program serves the format, it also opens the copy and
// reads every row, so that damage is found before a restore. `progress` gets the number of bytes
// read so far. If whoever made it has not read its rows, RocksDB's checksums of all tables are
// read, too.
Result<CheckpointManifest> verify_checkpoint(const std::string& path,
                                             const std::function<void(uint64_t)>& progress = {},
                                             rocksdb::Env* env = nullptr);
// The two below do the rest of that for a checkpoint that was hashed while it was written.
//
// Reads RocksDB's checksums of a table. Any other file of a database is accepted: its checksums are
// read with the rows.
Status verify_database_file(const std::string& path, rocksdb::Env* env = nullptr);
// Opens the database in `path`/db and reads every row. Returns the manifest with what it has
// counted; `path` needs no manifest.json. Rows of another format are not read. Io: the disk failed,
// or `cancelled` returned true: it is called every few milliseconds.
Result<CheckpointManifest> verify_rows(const std::string& path, const CheckpointManifest& manifest,
                                       const std::function<bool()>& cancelled = {},
                                       rocksdb::Env* env = nullptr);

struct CheckpointEntry {
  std::string path;
  std::string name;
  // The identity of its database: identity.h. Empty: it names none, or is damaged.
  std::string database;
  bool complete = false;
  Result<CheckpointManifest> manifest;  // Only read, not verified.
};

// The database that counts or removes checkpoints. Several databases may keep theirs in one
// directory.
struct CheckpointOwner {
  std::string database = {};  // identity.h. Empty: it owns no checkpoint that names a database.
  // Whether it owns the checkpoints that name no database, because they are damaged or an older
  // version made them.
  bool has_unmarked = false;

  bool owns(std::string_view marked_for) const {
    return marked_for.empty() ? has_unmarked : marked_for == database;
  }
};
// Returns the owner for a data directory and its checkpoints in `dir`. It owns checkpoints that
// name no database only if `dir` is its own `checkpoints` directory, and that is not a symbolic
// link.
CheckpointOwner checkpoint_owner(const std::string& data_dir, std::string database,
                                 const std::string& dir);

// Returns all checkpoints in a directory, oldest first. Temporary checkpoints and other names are
// skipped. A missing directory holds none.
Result<std::vector<CheckpointEntry>> list_checkpoints(const std::string& dir,
                                                      rocksdb::Env* env = nullptr);
// Removes the owner's partial and temporary checkpoints, and returns their names. REQUIRES: none of
// them is being made or used: the caller is the owner's server, or holds the lock of the data
// directory.
Result<std::vector<std::string>> remove_partial_checkpoints(const std::string& dir,
                                                            const CheckpointOwner& owner,
                                                            rocksdb::Env* env = nullptr);
// Removes a checkpoint. A crash during the removal leaves a partial one. NotFound: there is none.
// InvalidArgument: it holds a foreign file.
Status remove_checkpoint(const std::string& path, rocksdb::Env* env = nullptr);
// Removes the owner's checkpoints that are older than the `keep` newest ones with a readable
// manifest, and returns their names. A checkpoint with a damaged manifest is not counted.
Result<std::vector<std::string>> prune_checkpoints(const std::string& dir,
                                                   const CheckpointOwner& owner, size_t keep,
                                                   rocksdb::Env* env = nullptr);

}  // namespace perennial::store
