#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/sst_file_manager.h>
#include <rocksdb/write_batch.h>

#include "engine/types/check.h"
#include "store/batch/batch.h"
#include "store/disk/data_dir.h"
#include "store/disk/durable_mark.h"
#include "store/format/format.h"
#include "store/recovery/recovery.h"
#include "store/rocks/database.h"
#include "store/rocks/observer.h"
#include "store/space/compaction_guard.h"
#include "store/space/compaction_pieces.h"
#include "store/space/debt.h"
#include "store/space/room.h"
#include "store/store.h"

// What a Store is made of. Included by store's own files only.
namespace perennial::store {

struct Store::Impl {
  Impl(Options given, DataDir locked)
      : options(std::move(given)), dir(std::move(locked)), failure(options.events) {}

  // compact.cc. A compaction that found no room, and what there was then.
  struct HeldUp {
    uint64_t rows;
    uint64_t free_bytes;
    Nanos at;
  };
  class Loan;

  // The steps of open().
  Status open();
  Status prepare_room();
  Status create();
  Result<RecoveryPlan> recover();
  Status read_meta(JobId next_id_min);
  Status count_rows();
  Status begin_epoch();
  Status begin_durable_mark();
  // Notes beside the log how far it is synced. By the thread that writes.
  Status note_durable();

  // Adds to `writes`, and writes them. A failure is latched.
  void add_job(const JobEffect& job);
  void put_row(Family family, const rocksdb::SliceParts& key, const rocksdb::SliceParts& value);
  void remove_row(Family family, std::string_view key);
  void add_meta(MetaTag tag, std::string_view value);
  void add_commit_row();
  Status write(bool sync);
  Status sync();
  // Before the first batch of another epoch.
  Status finish_epoch(uint64_t next);
  Status look_at_room();
  void look_at_debt();
  // Whether anything has changed since this family's compaction last found no room.
  bool may_compact(Family family) const;
  Status compact(Family family, const TableCounts& tables, std::atomic<bool>& cancelled);
  // All of it if there is no range.
  rocksdb::Status compact_range(Family family, const KeyRange* range, std::atomic<bool>& cancelled);
  // Turns what RocksDB said of a write into a Status, and latches a failure.
  Status settle(const rocksdb::Status& status, std::string_view doing);
  uint64_t rows_of(Family family) const { return rows[place_of(family)].load(); }
  void inform(std::string_view at, std::string_view fields) const;

  Options options;
  DataDir dir;
  Failure failure;
  std::optional<Room> room;  // From the first step of open() on.
  std::unique_ptr<Database> db;
  std::unique_ptr<DurableMarkFile> durable_mark;  // From the last step of open() on.
  Opening opening;
  JobId stored_next_id = 1;  // What open() found.
  std::string identity;
  // How many rows each family of jobs has: by the account of its tables at open, and by ours since.
  // The writing thread's to change.
  std::array<std::atomic<uint64_t>, family_count> rows = {};
  // Room that a compaction is allowed and does not need: compact.cc.
  std::atomic<uint64_t> lent_bytes = 0;
  std::array<std::optional<HeldUp>, family_count> held_up = {};  // The housekeeper's.
  // How far history is written, and how far the disk has it: store/README.md, "Three indices". The
  // writing thread's.
  CommitRow applied;
  struct {
    uint64_t epoch = 0;
    BatchIndex index = 0;
  } durable;
  rocksdb::WriteBatch writes;  // Kept for its memory. The writing thread's.
  std::atomic<uint64_t> bytes_written = 0;
  std::atomic<bool> behind = false;
};

}  // namespace perennial::store
