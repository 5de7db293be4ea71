#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

// Included by store's own files only.
namespace perennial::store {

// Returns the file system of an environment, or the machine's file system if `env` is null.
inline rocksdb::FileSystem& file_system_of(rocksdb::Env* env) {
  return *(env != nullptr ? env : rocksdb::Env::Default())->GetFileSystem();
}

}  // namespace perennial::store
