#pragma once

#include <string>

#include <rocksdb/metadata.h>

#include "engine/types/status.h"
#include "store/damage/table_blocks.h"

namespace rocksdb {
class Env;
}  // namespace rocksdb

// A table of an open database as a file. Included by store's own files only.
namespace perennial::store {

std::string path_of(const rocksdb::LiveFileMetaData& table);

// Which keys the index of a table has: its properties say so. Corruption: they are damaged.
Result<IndexKeys> index_keys_of(const std::string& path, rocksdb::Env* env);

}  // namespace perennial::store
