#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <rocksdb/env.h>

// File systems to put between RocksDB and the disk. Included by store's own files only.
namespace perennial::store {

// In this one a log file's name is durable before anything is written to it. RocksDB names a new
// log in its MANIFEST and deletes the older ones, and syncs the directory only later: after a power
// cut between the two, the log would be gone with everything in it. And a file beside the log, its
// mark, carries the number of the newest one in its name, because the MANIFEST learns of a log only
// when something has been flushed since.
std::unique_ptr<rocksdb::Env> make_log_env(rocksdb::Env* base);

// The number in the mark's name, or 0 for any other file.
uint64_t log_mark_of(std::string_view name);

// In this one there are no log files, so that the tables can be read alone.
std::unique_ptr<rocksdb::Env> make_logless_env(rocksdb::Env* base);

}  // namespace perennial::store
