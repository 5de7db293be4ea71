#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_manager.h>
#include <rocksdb/write_batch.h>

#include "engine/types/check.h"
#include "store/batch/batch.h"
#include "store/damage/containment.h"
#include "store/damage/damaged_ids.h"
#include "store/damage/scrub.h"
#include "store/disk/data_dir.h"
#include "store/disk/durable_mark.h"
#include "store/forced_start.h"
#include "store/format/format.h"
#include "store/read_ended.h"
#include "store/recovery/recovery.h"
#include "store/rocks/database.h"
#include "store/rocks/observer.h"
#include "store/space/compaction_guard.h"
#include "store/space/compaction_pieces.h"
#include "store/space/disk_space.h"
#include "store/space/write_backlog.h"
#include "store/store.h"

// The members of a Store. Included by store's own files only.
namespace perennial::store {

struct Loaded;
using EndedSpans = absl::flat_hash_map<std::string, EndedSpan>;  // By the names of tubes.

struct Store::Impl {
  Impl(Options given, DataDir locked)
      : options(std::move(given)),
        dir(std::move(locked)),
        failure(options.events),
        containment(options, dir.db_path()),
        scrub(options) {}

  // A compaction that lacked space, and what the rows and the free space were then: compact.cc.
  struct HeldUp {
    uint64_t rows;
    uint64_t free_bytes;
    Nanos at;
  };
  class SpaceReservation;
  class EndedRemoval;

  // The steps of open().
  Status open(const StartReview& review);
  Status prepare_disk_space();
  Status create();
  Result<RecoveryPlan> recover(const StartReview& review);
  Status prepare_recovery(RecoveryPlan& plan, const StartReview& review);
  // A forced start: announces its outcome and keeps the files that will be cut; removes the rows
  // that the outcome leaves out; compares the outcome with what was loaded.
  Status begin_forced(const Database& view, RecoveryPlan& plan);
  Status finish_forced();
  Status check_promise(const Loaded& loaded) const;
  Status read_meta(JobId next_id_min);
  Status read_ended_spans();
  Status count_rows();
  // The last steps of load() of a database with damaged blocks: damaged_ended.cc,
  // damaged_bodies.cc, damaged_notes.cc. `jobs`: how many were loaded. `counts_agree`: the numbers
  // of rows of all these families fit, by the account of the tables.
  class EndedComparison;
  Status compare_ended(const DamagedEnded& damaged, const DamagedIds& damaged_bodies,
                       bool counts_agree);
  // `damaged`: also of blocks of ended jobs, whose bodies nobody needs.
  Status compare_bodies(const DamagedIds& damaged, uint64_t jobs, bool counts_agree);
  Status remove_ended_without_body(JobId id);
  Status compare_notes(const DamagedNotes& damaged);
  // Calls read(EndedAccess&), again as long as it meets damage that can be contained meanwhile, as
  // Store::read_body(): what was in the damaged block is then missing. Any thread.
  template <typename Read>
  auto read_ended(const rocksdb::Snapshot* snapshot, const Read& read) {
    while (true) {
      const uint64_t version = containment.version();
      EndedAccess access = {.db = *db};
      access.how.snapshot = snapshot;
      auto result = read(access);
      if (!access.unread) return result;
      containment.suspect(access.unread->family, access.unread->first, access.unread->last);
      // Another thread may have contained it meanwhile.
      const bool is_new = containment.check_suspects(**db) || containment.version() != version;
      if (!is_new) return result;
    }
  }
  // Whether there is a row of the job. REQUIRES: no start loads the family, and its keys are ids.
  Result<bool> has_row(Family family, JobId id);
  // Says that rows of this job's notes do not decode, once for each job. Any thread.
  void report_damaged_notes(JobId id, const std::vector<Status>& problems);
  Status begin_epoch();
  Status begin_durable_mark();
  // Writes to the durable mark how far the log is synced. Called by the thread that writes.
  Status note_durable();

  // The add_ and row functions add to `writes`, and write() writes them. `failure` keeps a failure.
  void add_job(const JobEffect& job);
  void put_ended(const EndedJob& job);
  Status remove_ended(const Batch& batch);
  void remove_notes(JobId job, uint32_t count);
  // The same of a job that has ended, as far as it is there.
  Status remove_body_and_notes(JobId job);
  void add_span(const std::string& tube, const EndedSpan& span);
  void put_row(Family family, const rocksdb::SliceParts& key, const rocksdb::SliceParts& value);
  void remove_row(Family family, std::string_view key);
  void add_meta(MetaTag tag, std::string_view value);
  void add_commit_row();
  Status write(bool sync);
  // Makes the families of a later format, for the first batch that needs it. The batch raises the
  // format: README.md of format/, "Format 3".
  Status begin_format(uint32_t next);
  Status sync();
  // Syncs the log if the batch of epoch `next` is the first of a new epoch.
  Status finish_epoch(uint64_t next);
  Status poll_disk_space();
  void poll_write_backlog();
  // Whether enough has changed since this family's compaction last lacked space.
  bool may_compact(Family family) const;
  Status compact(Family family, const TableCounts& tables, std::atomic<bool>& cancelled);
  // Compacts the whole family if `range` is null.
  rocksdb::Status compact_range(Family family, const CompactionPiece* range,
                                std::atomic<bool>& cancelled);
  // Returns what it is given. An error becomes the failure of the store, which ends the process:
  // write.cc says why. Any thread.
  Status fail_on_error(Status status);
  Status fail_on_error(const rocksdb::Status& status, std::string_view doing);
  uint64_t rows_of(Family family) const { return rows[place_of(family)].load(); }
  void inform(std::string_view at, std::string_view fields) const;

  Options options;
  DataDir dir;
  StoreFailure failure;
  Containment containment;
  Scrub scrub;
  std::optional<DiskSpace> space;  // From the first step of open() on.
  std::unique_ptr<Database> db;
  std::unique_ptr<DurableMarkFile> durable_mark;  // From the last step of open() on.
  Opening opening;
  std::optional<ForcedOutcome> promised;  // Of a forced start.
  JobId stored_next_id = 1;               // The row that open() found.
  // Of the database. Only the thread that writes uses it.
  uint32_t format = format_base;
  std::string identity;
  std::string cluster_id;  // Empty: the directory belongs to no cluster.
  // The number of rows of each of counted_families. open() sums it over the properties of the
  // tables, and each batch changes it since. Only the thread that writes changes it. Those of keys,
  // notes and schedules are upper bounds for the rows in tables, because their rows are
  // overwritten. Only compact_tombstones() sets them.
  std::array<std::atomic<uint64_t>, family_count> rows = {};
  // The space reservation of a compaction: compact.cc.
  std::atomic<uint64_t> reserved_space_bytes = 0;
  // Only the housekeeper's thread uses it.
  std::array<std::optional<HeldUp>, family_count> held_up = {};
  // The last applied batch, and the last durable one: store/README.md, "Three indices". Only the
  // thread that writes uses them.
  CommitRow applied;
  struct {
    uint64_t epoch = 0;
    BatchIndex index = 0;
  } durable;
  // It is a member so that batches reuse its memory. Only the thread that writes uses it.
  rocksdb::WriteBatch writes;
  // Where the ended jobs of each tube are that has some, as in meta after the last batch. A write
  // reads no row of meta, because it would meet a damaged block before a compaction does. Only the
  // thread that writes uses it, and load().
  EndedSpans ended_spans;
  std::atomic<uint64_t> bytes_written = 0;
  std::atomic<bool> write_stalled = false;
  std::mutex damaged_notes_mutex;
  absl::flat_hash_set<JobId> damaged_notes;  // The jobs that report_damaged_notes() has reported.
  std::mutex figures_mutex;  // The thread that writes sets figures, and others read them.
  DatabaseFigures figures;
};

}  // namespace perennial::store
