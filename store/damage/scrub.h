#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>
#include <rocksdb/metadata.h>

#include "engine/types/basic.h"
#include "engine/types/status.h"
#include "store/damage/table_blocks.h"
#include "store/types/damage.h"
#include "store/types/options.h"

namespace rocksdb {
class DB;
}  // namespace rocksdb

// Included by store's own files only.
namespace perennial::store {

// Reads all tables again and again, a few blocks at a time, and compares their checksums. So damage
// of what nobody reads is found while the rows are still in memory, and while other nodes of a
// cluster are whole, and not by the next start.
//
// It reads what the disk has: the kernel forgets the pages before. A block counts as damaged when
// two reads say so. It is blind to blocks of filters and properties, which a start reads, to log
// files, and to a block that was damaged before its checksum was made.
//
// One thread calls step(); the figures may be read by any.
class Scrub {
 public:
  // A pass over all tables begins at most once in this time, so that a small database is not read
  // all the time.
  static constexpr Nanos pass_interval = 60 * nanos_per_second;

  // `options` outlive this.
  explicit Scrub(const Options& options) : options_(options) {}

  // Reads about `bytes_max` bytes. Returns the tables in which a damaged block was met and that no
  // start loads: they are for Containment. A block of another family is kept in damaged(), and an
  // event says so.
  std::vector<uint64_t> step(rocksdb::DB& db, Nanos now, uint64_t bytes_max);

  // Damaged blocks of live tables of the families that a start loads.
  std::vector<DamagedRows> damaged() const;
  ScrubFigures figures() const;

 private:
  // The table that is being read.
  struct Reading {
    rocksdb::LiveFileMetaData table;
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    std::vector<TableBlock> blocks;
    size_t next = 0;  // In blocks.
  };
  using Tables = std::vector<rocksdb::LiveFileMetaData>;

  bool begin_pass(const Tables& tables, Nanos now);
  bool begin_table(const Tables& tables);
  Status open_table(Reading& reading) const;
  Status check(Reading& reading, const TableBlock& block) const;
  void note(rocksdb::DB& db, const Reading& reading, uint64_t offset, const Status& problem,
            std::vector<uint64_t>& to_contain);
  void forget_gone(const Tables& tables);

  const Options& options_;
  std::unique_ptr<Reading> reading_;
  bool is_passing_ = false;
  Nanos next_pass_at_ = 0;
  uint64_t last_ = 0;   // The number of the table that was read last in this pass,
  uint64_t until_ = 0;  // and of the newest one when the pass began.
  std::atomic<uint64_t> bytes_ = 0;
  std::atomic<uint64_t> passes_ = 0;
  mutable std::mutex mutex_;  // Guards damaged_.
  std::vector<DamagedRows> damaged_;
};

}  // namespace perennial::store
