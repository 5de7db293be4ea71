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
// NAME/db holds the database (tables are hard links, so that they cost no space until the server
// has dropped them), NAME/manifest.json says what there must be, and of which database it is. Until
// it is complete and verified a checkpoint is called NAME.DATABASE.partial: what a crash leaves
// under such a name is rubbish, and is removed by the next server and by prune.
//
// A temporary one is somebody's for a while. It is cut, and that is all: it is called
// NAME.DATABASE.temporary, has no manifest, is never listed or counted, and is rubbish like a
// half-made one as soon as its server has forgotten it.
namespace perennial::store {

// A file of the database, as it was when the checkpoint was verified.
struct CheckpointFile {
  std::string name;  // Below db/.
  uint64_t bytes = 0;
  std::string hash;  // XXH3, 128 bits, in hexadecimal.

  bool operator==(const CheckpointFile&) const = default;
};

struct CheckpointTube {
  std::string name;
  StateCounts jobs = {};  // `urgent` aside, which is not counted.
  uint64_t body_bytes = 0;
};

// What manifest.json says.
struct CheckpointManifest {
  std::string name;
  Nanos created = 0;           // Since the epoch.
  std::string server_version;  // Of the program that made it.
  std::string database = {};   // Of which it is a copy: identity.h. Empty: it does not say.
  uint32_t format = 0;         // On disk: format.h.
  CommitRow commit = {};       // Of the last batch that is in.
  JobId next_id = 1;
  StateCounts jobs = {};                   // `urgent` aside.
  std::vector<CheckpointTube> tubes = {};  // By name.
  std::vector<CheckpointFile> files = {};  // By name.
  // Whether its rows were read. Not where the program that made it knew the format only as one to
  // migrate from: then commit, next_id, jobs and tubes are not known.
  bool has_counts = true;

  uint64_t bytes() const;  // Of all files.
  uint64_t job_count() const;
};

// What is known of a checkpoint when it is cut, to hold against what is then found in it.
struct CheckpointCut {
  std::string dir;   // Where checkpoints go: checkpoint_dir.
  std::string name;  // checkpoint_name().
  Nanos created = 0;
  bool temporary = false;
  std::string server_version = {};
  std::string database = {};             // Whose: identity.h. Empty: it is not known.
  BatchIndex index = 0;                  // The last batch that is in.
  std::optional<StateCounts> jobs = {};  // The engine's own count at that moment; `urgent` is 0.
  // Of the database. With another one than this program's, files and checksums are all that is
  // checked.
  uint32_t format = format_version;
  // Asked by complete_checkpoint() every few milliseconds; true: give up and remove it. Any
  // thread's flag may be behind it.
  std::function<bool()> cancelled = {};
  rocksdb::Env* env = nullptr;  // The file system, the machine's if null.
};

// The time in UTC to a millisecond, so that names sort by age: "2026-11-21T12-40-05.123Z".
std::string checkpoint_name(Nanos now);
std::string partial_path(const CheckpointCut& cut);

// Store::cut_checkpoint (store.h) makes partial_path() and its db/, by the thread that writes and
// between two batches; it takes milliseconds. Then this, on any other thread, reads it all: hashes
// the files, checks RocksDB's checksums, opens the copy, reads every job's row, counts, writes the
// manifest, syncs, and gives it its name. REQUIRES: it is not temporary. Corruption: it is not what
// was cut. Io: the disk failed, or it was cancelled. NoSpace: no room for the manifest. Each time
// nothing of it is left, as far as the disk lets go of it.
Result<CheckpointManifest> complete_checkpoint(const CheckpointCut& cut);

// Reads and checks manifest.json alone. NotFound: `path` is no checkpoint, or half-made.
// Corruption: the manifest does not make sense, or a byte of it was changed. Unsupported: a newer
// program wrote it.
Result<CheckpointManifest> read_checkpoint(const std::string& path, rocksdb::Env* env = nullptr);
// Besides, hashes every file: any byte that was changed, any file that is missing or too many, is
// Corruption that names the file. Then opens it and reads every row, if its format is this
// program's, so that a restore is not the first to find out. `progress` is told how many bytes have
// been read so far.
Result<CheckpointManifest> verify_checkpoint(const std::string& path,
                                             const std::function<void(uint64_t)>& progress = {},
                                             rocksdb::Env* env = nullptr);

struct CheckpointEntry {
  std::string path;
  std::string name;
  std::string database;  // Whose: identity.h. Empty: it does not say, or is damaged.
  bool complete = false;
  Result<CheckpointManifest> manifest;  // Read, and not verified.
};

// Who counts checkpoints, or removes some. Several databases may have theirs in one directory.
struct CheckpointOwner {
  std::string database = {};  // identity.h. Empty: none says that it is this one's.
  // Whether those are its own that do not say whose they are, because they are damaged or an older
  // version made them.
  bool has_unmarked = false;

  bool owns(std::string_view marked_for) const {
    return marked_for.empty() ? has_unmarked : marked_for == database;
  }
};
// The database of a data directory, for its checkpoints in `dir`. Those that do not say whose they
// are belong to it in its own `checkpoints` alone, unless that is a link to somewhere else.
CheckpointOwner checkpoint_owner(const std::string& data_dir, std::string database,
                                 const std::string& dir);

// All checkpoints in a directory, oldest first. Temporary ones and names that are no checkpoint's
// are passed over. A directory that is not there holds none.
Result<std::vector<CheckpointEntry>> list_checkpoints(const std::string& dir,
                                                      rocksdb::Env* env = nullptr);
// Removes the owner's half-made and temporary checkpoints, and says which. REQUIRES: nobody makes
// or uses one of them: the caller is the owner's server, or holds the data directory's lock.
Result<std::vector<std::string>> remove_partial_checkpoints(const std::string& dir,
                                                            const CheckpointOwner& owner,
                                                            rocksdb::Env* env = nullptr);
// Removes one whole, so that a crash in the middle leaves a half-made one. NotFound: there is none.
// InvalidArgument: it holds what no checkpoint does.
Status remove_checkpoint(const std::string& path, rocksdb::Env* env = nullptr);
// Of the owner's: removes those older than the `keep` newest whose manifests can be read, and says
// which. One with a damaged manifest never counts as kept.
Result<std::vector<std::string>> prune_checkpoints(const std::string& dir,
                                                   const CheckpointOwner& owner, size_t keep,
                                                   rocksdb::Env* env = nullptr);

}  // namespace perennial::store
