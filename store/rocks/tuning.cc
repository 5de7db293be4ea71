#include "store/rocks/tuning.h"

#include <utility>

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>

#include "store/rocks/id_memtable.h"
#include "store/rocks/rocksdb_versions.h"
#include "store/space/write_backlog.h"

namespace perennial::store {
namespace {

constexpr size_t kib = 1 << 10;
constexpr size_t mib = 1 << 20;

rocksdb::BlockBasedTableOptions table_options(size_t cache_bytes) {
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 16 * kib;
  table.format_version = 5;
  table.checksum = rocksdb::kXXH3;
  if (cache_bytes > 0) table.block_cache = rocksdb::NewLRUCache(cache_bytes);
  table.no_block_cache = cache_bytes == 0;
  return table;
}

// The size of the level below level 0: a queue's memtables hold its newest rows and tombstones of
// its oldest, so that each compaction of level 0 rewrites that whole level. It is therefore no
// larger than one or two memtables. Below it new rows move as whole tables, without being
// rewritten, and tombstones are merged only with the tables of the oldest rows. RocksDB's default
// of 256 MB would rewrite far more.

// Families of small rows are not read while the server serves. So their tables need no cache and no
// filter.
void set_up_small_rows(rocksdb::ColumnFamilyOptions& family, uint64_t compaction_bytes_max) {
  family.write_buffer_size = 16 * mib;
  family.compression = rocksdb::kNoCompression;
  family.level0_file_num_compaction_trigger = 2;
  family.target_file_size_base = compaction_bytes_max / 16;
  family.max_bytes_for_level_base = compaction_bytes_max / 16;
  family.max_compaction_bytes = compaction_bytes_max;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(0)));
}

// The memtables of state families need no index either. Those of `keys` are RocksDB's own, because
// its keys are no ids, and its rows are overwritten.
void set_up_state_family(rocksdb::ColumnFamilyOptions& family, uint64_t compaction_bytes_max) {
  set_up_small_rows(family, compaction_bytes_max);
  family.memtable_factory = make_id_memtable_factory(IdMemtableUse::FlushOnly);
}

// Notes are overwritten and found by other keys, as rows of `keys`, and are text as bodies are.
// They are read when somebody looks at a job, which the page cache of the kernel is enough for.
void set_up_notes(rocksdb::ColumnFamilyOptions& family, uint64_t compaction_bytes_max) {
  set_up_small_rows(family, compaction_bytes_max);
  family.compression = rocksdb::kLZ4Compression;
}

// Rows of ended jobs are found by their ids, as bodies are, and their order as rows of `keys`. Both
// are read when somebody looks at ended jobs or they go, which the page cache is enough for. All
// memtables of all families together are less than db_write_buffer_size.
void set_up_ended(rocksdb::ColumnFamilyOptions& family, uint64_t compaction_bytes_max) {
  set_up_small_rows(family, compaction_bytes_max);
  family.memtable_factory = make_id_memtable_factory(IdMemtableUse::Lookups);
}
void set_up_ended_order(rocksdb::ColumnFamilyOptions& family, uint64_t compaction_bytes_max) {
  set_up_small_rows(family, compaction_bytes_max);
  family.write_buffer_size = 8 * mib;
}

// A schedule is overwritten as rows of `keys`, and its body is text. Few are set in a day, and what
// each firing writes is small.
void set_up_schedules(rocksdb::ColumnFamilyOptions& family, uint64_t compaction_bytes_max) {
  set_up_small_rows(family, compaction_bytes_max);
  family.write_buffer_size = 8 * mib;
  family.compression = rocksdb::kLZ4Compression;
}

void set_up_bodies(rocksdb::ColumnFamilyOptions& family, uint64_t compaction_bytes_max) {
  family.memtable_factory = make_id_memtable_factory(IdMemtableUse::Lookups);
  family.write_buffer_size = 32 * mib;
  family.compression = rocksdb::kLZ4Compression;
  family.target_file_size_base = compaction_bytes_max / 8;
  family.max_bytes_for_level_base = compaction_bytes_max / 8;
  family.max_compaction_bytes = compaction_bytes_max;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(32 * mib)));
}

void set_up_meta(rocksdb::ColumnFamilyOptions& family) {
  family.write_buffer_size = 32 * mib;
  family.compression = rocksdb::kNoCompression;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(1 * mib)));
}

// Sets RocksDB's own limits so high that must_stall() acts first: write_backlog.h.
void never_stall(rocksdb::ColumnFamilyOptions& family) {
  family.max_write_buffer_number = memtables_max;
  family.level0_slowdown_writes_trigger = slowdown_tables;
  family.level0_stop_writes_trigger = stop_tables;
  family.soft_pending_compaction_bytes_limit = 0;
  family.hard_pending_compaction_bytes_limit = 0;
}

}  // namespace

rocksdb::DBOptions db_options(const Options& options, std::shared_ptr<rocksdb::Logger> logger,
                              std::shared_ptr<rocksdb::EventListener> listener) {
  rocksdb::DBOptions db;
  if (options.env != nullptr) db.env = options.env;
  db.info_log = std::move(logger);
  db.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  db.listeners = {std::move(listener)};
  // In this mode RocksDB refuses damage in the middle of the log. Other modes skip it.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  db.max_total_wal_size = options.log_bytes_max;
  db.log_readahead_size = 2 * mib;
  db.db_write_buffer_size = 224 * mib;         // RocksDB flushes one at seven eighths of this.
  db.allow_fallocate = false;                  // With it an idle queue holds 145 MB.
  db.allow_concurrent_memtable_write = false;  // Our memtables allow one writer, and there is one.
  db.max_background_jobs = 2;
  // A bound is needed, because file descriptors are limited. RocksDB subtracts ten for other files.
  db.max_open_files = static_cast<int>(options.open_tables_max) + 10;
  // With that bound RocksDB opens at most 16 tables of a family at the start. The threads for it,
  // 16 for each family, would take longer than they save.
  db.max_file_opening_threads = 1;
  db.table_cache_numshardbits = 0;  // Each shard of the cache would round the bound up.
  db.max_manifest_file_size = 64 * mib;
  db.skip_stats_update_on_db_open = true;
  db.bytes_per_sync = 1 * mib;  // Tables are synced in small parts, so that they delay no log sync.
  db.strict_bytes_per_sync = true;
  // Counters only: timers and histograms would read the clock in each call.
  db.statistics = rocksdb::CreateDBStatistics();
  db.statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
  db.stats_persist_period_sec = 0;  // Its history of them would take a megabyte.
  fail_if_options_file_error(db);
  db.max_bgerror_resume_count = 0;
  db.write_dbid_to_manifest = false;  // A checkpoint must not carry it in its MANIFEST: identity.h.
  // The loop's thread reads bodies that are in memory. Without this option such a read may have to
  // delete a table that a compaction has replaced.
  db.avoid_unnecessary_blocking_io = true;
  return db;
}

rocksdb::ColumnFamilyOptions family_options(Family which, const Options& options) {
  rocksdb::ColumnFamilyOptions family;
  family.level_compaction_dynamic_level_bytes = true;
  family.table_properties_collector_factories = {make_tombstone_collector_factory()};
  never_stall(family);
  if (which == Family::Meta) {
    set_up_meta(family);
  } else if (which == Family::Bodies) {
    set_up_bodies(family, options.compaction_bytes_max);
  } else if (which == Family::Keys) {
    set_up_small_rows(family, options.compaction_bytes_max);
  } else if (which == Family::Notes) {
    set_up_notes(family, options.compaction_bytes_max);
  } else if (which == Family::Ended) {
    set_up_ended(family, options.compaction_bytes_max);
  } else if (which == Family::EndedOrder) {
    set_up_ended_order(family, options.compaction_bytes_max);
  } else if (which == Family::Schedules) {
    set_up_schedules(family, options.compaction_bytes_max);
  } else {
    set_up_state_family(family, options.compaction_bytes_max);
  }
  return family;
}

}  // namespace perennial::store
