#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace perennial::store {

// The log files that RocksDB still needs.
struct LogFiles {
  uint64_t oldest_index = 0;  // 0 without any.
  uint64_t newest_index = 0;
  uint64_t bytes = 0;
};

// The number in "000012.log", or 0 for any other file.
uint64_t log_index_of(std::string_view name);

// Finds them by listing the database's directory, which is cheaper than asking RocksDB and can wait
// for none of its threads. What cannot be read is left out.
LogFiles list_log_files(const std::string& db_path);

}  // namespace perennial::store
