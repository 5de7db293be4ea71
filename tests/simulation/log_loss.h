#pragma once

#include <cstdint>
#include <string>

namespace perennial::simulation {

// What a disk leaves behind that has said it had synced: a copy of a data directory, of which one
// log file is emptied, zeroed, or ends behind one of its records. A start must refuse it, or find
// every batch that the durable mark names; and if it finds the last batch, the same rows. Returns
// what is wrong; empty if nothing is. `copy`: where the copy may be; it is removed. Runs RocksDB in
// a child.
struct LogLoss {
  std::string data_dir;
  std::string copy;
  uint64_t seed = 0;
};
std::string lose_log(const LogLoss& loss, bool& is_refused);

}  // namespace perennial::simulation
