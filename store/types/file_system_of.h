#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

// Included by store's own files only.
namespace perennial::store {

// What is under an environment, the machine's if null.
inline rocksdb::FileSystem& file_system_of(rocksdb::Env* env) {
  return *(env != nullptr ? env : rocksdb::Env::Default())->GetFileSystem();
}

}  // namespace perennial::store
