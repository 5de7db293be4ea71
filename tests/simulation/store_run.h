#pragma once

#include <cstdint>
#include <string>

#include "store/types/options.h"
#include "tests/simulation/drive.h"

namespace perennial::simulation {

// The whole existence of a data directory on the real store, over the fault file system in memory.
// Several servers run in succession, each a child process that ends with a power cut, a kill, a
// failed call or a clean stop; the last one runs undisturbed. The events follow from the seed, but
// the order of RocksDB's threads does not. Returns the problem with the last file calls, or an
// empty string.
struct StoreRun {
  uint64_t seed = 0;
  store::Durability durability = store::Durability::Commit;
  bool disk_lies = false;      // Syncs of the log do nothing.
  bool has_schedules = false;  // Instead of clients: schedules.h.
};
std::string run(const StoreRun& plan, Figures& figures);

}  // namespace perennial::simulation
