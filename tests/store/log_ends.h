#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <rocksdb/file_system.h>

#include "engine/types/check.h"
#include "store/recovery/log_records.h"

namespace perennial::store {

// Returns the ends of the whole records of a log file, up to its first damage.
inline std::vector<uint64_t> record_ends(const std::string& path) {
  std::unique_ptr<rocksdb::FSSequentialFile> file;
  CHECK(rocksdb::FileSystem::Default()->NewSequentialFile(path, {}, &file, nullptr).ok());
  LogReader reader(std::move(file), 0);
  std::vector<uint64_t> ends;
  LogRecord record;
  while (true) {
    const Result<bool> more = reader.next(record);
    CHECK(more.ok());
    if (!*more || !record.is_whole()) return ends;
    ends.push_back(record.end);
  }
}

}  // namespace perennial::store
