#pragma once

#include <cstdint>
#include <string>

#include "store/types/options.h"
#include "tests/simulation/life.h"

namespace perennial::simulation {

// A data directory's whole life on the real store, over the fault file system in memory: several
// servers, one after the other, each a child process that is ended by a power cut, a kill, a failed
// call or a clean stop; then one that nothing happens to. What happens follows from the seed; which
// of RocksDB's threads comes first does not. Returns what is wrong, with the last file calls; empty
// if nothing is.
struct StoreRun {
  uint64_t seed = 0;
  store::Durability durability = store::Durability::Commit;
  bool disk_lies = false;  // Syncs of the log do nothing.
};
std::string run(const StoreRun& plan, Figures& figures);

}  // namespace perennial::simulation
