#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/types/basic.h"
#include "engine/types/body.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/batch/batch.h"
#include "store/rocks/log_files.h"
#include "store/space/room.h"
#include "store/types/options.h"

namespace rocksdb {
class DB;
class Snapshot;
}  // namespace rocksdb

namespace perennial::store {

// What recovery found.
struct Opening {
  // One more than that of the last batch. Whoever seals batches for this store gives them this one.
  uint64_t epoch = 0;
  BatchIndex last_index = 0;
  Nanos last_now = 0;  // The engine's time in the last batch.
  JobId next_id = 1;   // No id from here on was ever used.
};

// Where load() puts what it reads. Each may refuse, which ends the load.
struct LoadSink {
  std::function<Status(TubeId, std::string_view name)> tube;
  std::function<Status(const TubePaused&)> pause;
  std::function<Status(const JobRow&)> job;
};

// The content of the store at one moment. Movable; ends before its store does.
class Snapshot {
 public:
  Snapshot(Snapshot&& other) noexcept;
  Snapshot& operator=(Snapshot&& other) noexcept;
  ~Snapshot();

 private:
  friend class Store;
  explicit Snapshot(rocksdb::DB& db);

  rocksdb::DB* db_;
  const rocksdb::Snapshot* at_;
};

// One data directory, open. Maps transitions to rows and back and decides nothing. Writes come from
// one thread, which is the committer's while the server runs. A write that fails is final: the
// fatal event is sent, and every later write is refused.
class Store {
 public:
  // Makes the directory if there is none, locks it, recovers it and counts the epoch up.
  // Locked: somebody has it. NoSpace: the disk is full. Io: it cannot be read or written.
  // Corruption: it is damaged, or not ours. Unsupported: a newer version made it.
  static Result<std::unique_ptr<Store>> open(Options options);
  // Without close() it is left as a crash would leave it.
  ~Store();

  const Options& options() const;
  const Opening& opening() const;
  // Which database it is: identity.h. Empty if that is not known.
  const std::string& identity() const;

  // Gives back tubes, then pauses, then jobs, each by number. Calls the sink on the calling thread,
  // while other threads scan ahead. Refuses what does not fit together, but reads no body.
  // REQUIRES: nothing was written since open().
  Status load(const LoadSink& sink);

  // Applies a sealed batch whole, and a batch that is already in not at all. Unless `sync`, only
  // the kernel has it afterwards. REQUIRES: its index is at most one more than the last one's; and
  // where it is more, its epoch is no smaller.
  Status write(const Batch& batch, bool sync);
  // Makes durable what was written without.
  Status sync();
  // store/README.md, "Three indices". By the thread that writes.
  BatchIndex applied() const;
  BatchIndex durable() const;

  // A file beside the log says how far it is synced, so that a start misses what the disk has lost
  // of it: durable_mark.h. write() and sync() keep it up to date. This notes, besides, what RocksDB
  // has synced by itself; by the thread that writes.
  Status note_durable();
  // Makes durable what it says. By the thread that writes.
  Status sync_durable_mark();

  // Reads how much room there is, and gives up the ballast if it must. By the thread that writes.
  Status look_at_room();
  // Reads how far flushes and compactions are behind. By the thread that writes.
  void look_at_debt();

  // Any thread may take one, and read under it, or read what is there now if it gives none.
  // NotFound: there was no such body. Corruption: it is not what was written. Io: the disk did not
  // give it. Not for each read a snapshot: when the oldest of them goes, RocksDB 7.8 compacts each
  // table of the last level by itself that came there without being rewritten (compaction reason
  // BottommostFiles).
  Snapshot snapshot() const;
  Result<Body> read_body(JobId id, const Snapshot* snapshot = nullptr) const;
  // The same if RocksDB has it in a memtable or in its cache of blocks. None: read_body() says what
  // there is. Never waits for the disk.
  std::optional<Body> body_in_memory(JobId id) const;

  // Makes `dir` with a copy of the database in `dir`/db, as it is after the last batch:
  // checkpoint.h. By the thread that writes. InvalidArgument: `dir` is on another file system, or
  // is there. A failure leaves what remove_partial_checkpoints() removes.
  Status cut_checkpoint(const std::string& dir);

  // Ends cleanly: stores the exact next id, flushes everything, so that the next start has next to
  // no log to replay, and closes. Nothing else may be called afterwards.
  Status close(JobId next_id);

  // Housekeeping, from any thread.
  bool failed() const;
  uint64_t bytes_written() const;
  // For a watchdog: a number that changes whenever something was written or synced. Also while it
  // closes.
  uint64_t progress() const;
  LogFiles log_files() const;
  RoomState room() const;
  DiskLeft disk_left() const;
  // Whether puts should wait for flushes and compactions: debt.h.
  bool behind() const;
  // room.h.
  bool is_scarce() const;
  // Makes the ballast if it is missing and there is ample room for it. By one thread at a time.
  void make_ballast();
  Status flush();
  // Compacts each family of at least `bytes_min` that is mostly tombstones and what they end, until
  // `cancelled`; while room is scarce, smaller ones and those with fewer tombstones, too.
  Status compact_tombstones(std::atomic<bool>& cancelled, uint64_t bytes_min = 4 << 20);

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::store
