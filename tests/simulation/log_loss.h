#pragma once

#include <cstdint>
#include <string>

namespace perennial::simulation {

// Simulates a disk that reported a sync that it had not done. In a copy of a data directory one log
// file is emptied, zeroed, or truncated after one of its records. A start must refuse the copy or
// find every batch that the durable mark names; if it finds the last batch, the rows must be equal.
// Returns the problem, or an empty string. `copy` is the path of the copy, which is removed.
// RocksDB runs in a child process.
struct LogLoss {
  std::string data_dir;
  std::string copy;
  uint64_t seed = 0;
};
std::string lose_log(const LogLoss& loss, bool& is_refused);

}  // namespace perennial::simulation
