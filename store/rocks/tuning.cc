#include "store/rocks/tuning.h"

#include <utility>

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/table.h>

#include "store/rocks/id_memtable.h"
#include "store/rocks/rocksdb_versions.h"
#include "store/rocks/tombstones.h"
#include "store/space/debt.h"

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

// Of the levels below: a queue's memtables hold its newest rows and tombstones of its oldest, so
// that each compaction of level 0 rewrites the whole level below it. That is therefore no larger
// than a memtable or two. From there on down new rows move by the table, without being rewritten,
// and tombstones meet the tables of the oldest rows only.

// Never read while serving, so the memtable needs no index and the tables no cache and no filter.
void set_up_state_family(rocksdb::ColumnFamilyOptions& family, uint64_t compaction_bytes_max) {
  family.memtable_factory = make_id_memtable_factory(IdMemtableUse::FlushOnly);
  family.write_buffer_size = 16 * mib;
  family.compression = rocksdb::kNoCompression;
  family.level0_file_num_compaction_trigger = 2;
  family.target_file_size_base = compaction_bytes_max / 16;
  family.max_bytes_for_level_base = compaction_bytes_max / 16;
  family.max_compaction_bytes = compaction_bytes_max;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(0)));
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

// debt.h.
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
  // The strict mode: damage in the middle of the log is refused, not skipped.
  db.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  db.max_total_wal_size = options.log_bytes_max;
  db.log_readahead_size = 2 * mib;
  db.db_write_buffer_size = 192 * mib;
  db.allow_fallocate = false;                  // Else an idle queue holds 145 MB.
  db.allow_concurrent_memtable_write = false;  // There is one writer, and our memtables allow one.
  db.max_background_jobs = 2;
  // Not without a bound: tables are made for ever, and descriptors are not. RocksDB takes ten off.
  db.max_open_files = static_cast<int>(options.open_tables_max) + 10;
  db.table_cache_numshardbits = 0;  // Each part of the cache would round the bound up.
  db.max_manifest_file_size = 64 * mib;
  db.skip_stats_update_on_db_open = true;
  db.bytes_per_sync = 1 * mib;  // A table's sync is spread out, so that it delays no log's.
  db.strict_bytes_per_sync = true;
  fail_if_options_file_error(db);
  db.max_bgerror_resume_count = 0;
  db.write_dbid_to_manifest = false;  // A copy has no identity of its source: identity.h.
  // The loop reads bodies that are in memory. It must not be the one to delete a table that a
  // compaction has replaced meanwhile.
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
  } else {
    set_up_state_family(family, options.compaction_bytes_max);
  }
  return family;
}

}  // namespace perennial::store
