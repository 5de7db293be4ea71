#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/body.h"
#include "engine/types/ended_groups.h"
#include "engine/types/note.h"
#include "engine/types/status.h"
#include "engine/types/transition.h"
#include "store/batch/batch.h"
#include "store/format/format.h"
#include "store/rocks/log_files.h"
#include "store/space/disk_space.h"
#include "store/types/damage.h"
#include "store/types/database_figures.h"
#include "store/types/ended_found.h"
#include "store/types/options.h"

namespace rocksdb {
class DB;
class Snapshot;
}  // namespace rocksdb

namespace perennial::store {

// The version of the RocksDB that is loaded.
std::string rocksdb_version();

// What recovery found.
struct Opening {
  // One more than the epoch of the last batch. Batches that are sealed for this store carry it.
  uint64_t epoch = 0;
  BatchIndex last_index = 0;
  Nanos last_now = 0;  // The engine's time in the last batch.
  JobId next_id = 1;   // Neither this id nor a higher one was ever used.
};

// Receives the rows that load() reads. Each function may return an error, which ends the load.
struct LoadSink {
  std::function<Status(TubeId, std::string_view name)> tube;
  std::function<Status(const TubePaused&)> pause;
  std::function<Status(const SettingsStored&)> settings;
  std::function<Status(const JobRow&)> job;
  std::function<Status(const KeyStored&)> key;
  // Where the ended jobs of a tube are. It may be empty: not everybody wants to know.
  std::function<Status(const std::string& tube, const EndedSpan&)> ended = {};
  // In the order of names. `body`: that of the jobs that the schedule puts; the view is valid
  // during the call. It may be empty, too.
  std::function<Status(const ScheduleStored&, std::string_view body)> schedule = {};
};

// Judges a start before it changes anything. `newest`: the time of the newest batch; 0: there is
// none. `load` passes the rows that the start would load, in the order of Store::load(), and takes
// as long. An error refuses the start, which then leaves the directory as it was.
using StartReview =
    std::function<Status(Nanos newest, const std::function<Status(const LoadSink&)>& load)>;

// The content of the store at one moment. It is movable, and must end before its store.
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

// An open data directory. It maps transitions to rows and back, and decides nothing. One thread
// writes; while the server runs this is the committer. A failed write is final: the store sends the
// fatal event and refuses every later write.
class Store {
 public:
  // Makes the directory if there is none, locks it, recovers it and increments the epoch.
  // Locked: another process has it open. NoSpace: the disk is full. Io: it cannot be read or
  // written. Corruption: it is damaged, or not ours. Unsupported: a newer version made it.
  // Any other error is that of `review`, which may be empty.
  static Result<std::unique_ptr<Store>> open(Options options, const StartReview& review = {});
  // Without close() the destructor leaves the directory as a crash would leave it.
  ~Store();

  const Options& options() const;
  const Opening& opening() const;
  // The identity of the database: identity.h. Empty if the database has none.
  const std::string& identity() const;

  // The id of the cluster that the directory belongs to. Empty: none.
  const std::string& cluster_id() const;
  // Makes the directory part of a cluster, for good and durably. REQUIRES: it belongs to none.
  // Called by the thread that writes.
  Status join_cluster(const std::string& id);
  // Makes the directory the beginning of another cluster, and raises the next id to `next_id`, in
  // one durable write. REQUIRES: next_id is not below opening().next_id, and is what close() gets.
  // Called by the thread that writes.
  Status begin_cluster(const std::string& id, JobId next_id);
  // What a start would find now, except the epoch, which is that of this open. For a standby that
  // becomes the leader. Called while nothing is written.
  Result<Opening> reached() const;

  // Passes spans of ended jobs and settings, both in the order of names, tubes and pauses in the
  // order of ids, schedules by name, jobs in the order of ids, and then keys by tube and key to the
  // sink. It calls the sink on the calling thread, while other threads read ahead. It reads no body
  // of a job and no ended job. It does not compare keys with jobs, which is for the engine to do.
  // Corruption: the rows contradict each other. Called while nothing is written.
  Status load(const LoadSink& sink);

  // Applies a sealed batch as a whole. A batch that was applied before is skipped. Without `sync`
  // only the kernel has the batch afterwards. REQUIRES: the batch's index is at most one more than
  // applied(). If it is one more, its epoch is at least that of the last batch.
  Status write(const Batch& batch, bool sync);
  // Makes all batches durable that were written without `sync`.
  Status sync();
  // store/README.md, "Three indices". Called by the thread that writes.
  BatchIndex applied() const;
  BatchIndex durable() const;

  // Updates the durable mark with the log bytes that RocksDB has synced for its own flushes. The
  // mark tells a start how far the log was synced, so that the start notices a loss:
  // durable_mark.h. write() and sync() update it, too. Called by the thread that writes.
  Status note_durable();
  // Syncs the file of the durable mark: DurableMarkFile::sync(). A call while the log is idle makes
  // both slots of the file name the newest mark. Called by the thread that writes.
  Status sync_durable_mark();

  // Reads figures() anew. Called by the thread that writes.
  void poll_figures();
  // Reads the free space, and removes the ballast if needed. Called by the thread that writes.
  Status poll_disk_space();
  // Reads the write backlog and sets write_stalled(). Called by the thread that writes.
  void poll_write_backlog();

  // Thread-safe. read_body() reads the body as of `snapshot`, or the current one without it.
  // NotFound: there is no such body. Corruption: it is not what was written. Io: the disk cannot
  // read it, nor the rest of its table. A body that was in a damaged block is not there, which is
  // NotFound. Readers should not take a snapshot for each read. When the oldest snapshot is
  // released, RocksDB 7.8 compacts each table that was moved to the last level without being
  // rewritten (compaction reason BottommostFiles).
  Snapshot snapshot() const;
  Result<Body> read_body(JobId id, const Snapshot* snapshot = nullptr) const;
  // Thread-safe. Returns the notes of the job, all as of `snapshot` or as of one moment, the oldest
  // first: at most notes_max. A note that is not there is left out, so that a job may have fewer
  // than it counts, or none: after a repair, or when it was in a damaged block. So is one whose row
  // is not what was written, which an event says. It waits for the disk. Corruption, Io: the disk
  // cannot read the rest of a table either; the message names the family and the key.
  Result<std::vector<Note>> read_notes(JobId id, const Snapshot* snapshot = nullptr) const;
  // Thread-safe, as read_notes() in all but this: a body or notes that are damaged or missing are
  // left out. None: there is no such job, or a row of it was in a damaged block. A job that goes
  // meanwhile is not there, or is whole.
  Result<std::optional<EndedFound>> read_ended(JobId id, bool with_body,
                                               const Snapshot* snapshot = nullptr) const;
  // The same for ended jobs of one tube. One whose row is missing is left out.
  Result<EndedPage> read_ended(const EndedQuery& query, const Snapshot* snapshot = nullptr) const;
  // The same for those of all these tubes, the newest first, in groups. It takes microseconds for
  // each tube, and as much for each job that it looks at.
  Result<EndedGroupsPage> read_ended_groups(const EndedGroupsQuery& query) const;
  // The same for what is to be known of them so that they may go, from the place `first` on, in the
  // order of places: at most `max`.
  Result<std::vector<EndedOrder>> read_ended_order(const std::string& tube, uint64_t first,
                                                   size_t max) const;
  // Returns the body if RocksDB has it in a memtable or in its block cache, and never waits for the
  // disk. If it returns none, read_body() tells whether there is a body.
  std::optional<Body> body_in_memory(JobId id) const;

  // Makes `dir` with a copy of the database in `dir`/db as of the last batch: checkpoint.h. Called
  // by the thread that writes. InvalidArgument: `dir` is on another file system, or exists. A
  // failure leaves nothing of it, unless the disk refuses the removal, too: then the next start
  // removes it, with remove_partial_checkpoints().
  Status create_checkpoint(const std::string& dir);

  // Ends cleanly: stores the exact next id, flushes all families and closes. The next start has one
  // record of the log to replay. `now`: the engine's time, so that the next start knows since when
  // no server ran; an earlier one than that of the last batch counts as that. No other function may
  // be called afterwards.
  Status close(JobId next_id, Nanos now = 0);

  // Housekeeping. The functions below are thread-safe unless a comment says otherwise.
  bool failed() const;
  uint64_t bytes_written() const;
  // For a watchdog: a number that changes whenever the store writes or syncs, also during close().
  uint64_t progress() const;
  LogFiles log_files() const;
  SpaceState space_state() const;
  DiskLeft disk_left() const;
  // The free space at the last poll, in bytes.
  uint64_t disk_free_bytes() const;
  // How many more files the disk can hold. None: it has no limit.
  std::optional<uint64_t> disk_free_files() const;
  // What RocksDB said at the last poll.
  DatabaseFigures figures() const;
  // The blocks of bodies, notes and ended jobs that were found damaged: store/damage. Jobs whose
  // bodies or notes were in them have none, ended jobs whose rows were in them are not there, and
  // all others are whole. The list becomes shorter only by a
  // start.
  std::vector<DamagedBlock> damaged_blocks() const;
  // A number that changes with damaged_blocks(). 0: there are none.
  uint64_t damage_version() const;
  // Thread-safe. Lets the next repair_damage() check all tables whose damage is contained: somebody
  // who has read a copy of them has met damage.
  void suspect_tables();
  // Checks tables of which rows could not be read, and writes damaged ones anew without what is
  // damaged. One thread calls it at a time. It stops when another thread sets `cancelled`.
  void repair_damage(std::atomic<bool>& cancelled);
  // Reads some tables again (scrub_bytes_per_second), and lets repair_damage() do what is to be
  // done about damage that is contained. One thread calls it about once a second.
  void scrub(Nanos now);
  // Damaged blocks of all other families that it has found. Their rows are in memory, and the next
  // start is refused.
  std::vector<DamagedRows> damaged_rows() const;
  ScrubFigures scrub_figures() const;
  // What of the database on disk is known not to be what was written, for a person to read. Empty:
  // nothing is.
  std::string damage() const;
  // Whether puts should wait for flushes and compactions: write_backlog.h.
  bool write_stalled() const;
  // DiskSpace::is_scarce() in disk_space.h.
  bool is_scarce() const;
  // Makes the ballast if it is missing and enough is free for it. One thread calls it at a time.
  void make_ballast();
  Status flush();
  // Flushes one family, as RocksDB does when its memtable is full. Only tests call it.
  Status flush(Family family);
  // Compacts each family of at least `bytes_min` in which tombstones and the rows that they delete
  // are the larger part. While space is scarce it also compacts smaller families, and those with
  // fewer tombstones. It stops when another thread sets `cancelled`.
  Status compact_tombstones(std::atomic<bool>& cancelled, uint64_t bytes_min = 4 << 20);

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace perennial::store
