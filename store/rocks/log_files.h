#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace perennial::store {

// The log files that RocksDB has not deleted yet.
struct LogFiles {
  uint64_t oldest_index = 0;  // 0 if there is no log file.
  uint64_t newest_index = 0;
  uint64_t bytes = 0;
};

// Returns the number in "000012.log", or 0 for any other file.
uint64_t log_index_of(std::string_view name);

// Lists the directory of a database. RocksDB's own list costs more, and takes a lock that its
// threads hold during flushes. Files that cannot be read are left out.
LogFiles list_log_files(const std::string& db_path);

}  // namespace perennial::store
