#pragma once

#include <cstdint>
#include <string>

#include "store/types/options.h"
#include "tests/simulation/life.h"
#include "tests/simulation/plants.h"

namespace perennial::simulation {

// A data directory's whole life on the model of a store: several servers, one after the other, each
// ended by a kill, a power cut or a clean stop. All of it follows from the seed. Returns what is
// wrong; empty if nothing is.
struct ModelRun {
  uint64_t seed = 0;
  store::Durability durability = store::Durability::Commit;
  Bug bug = Bug::None;
  bool ignores_images = false;  // Leaves all to what clients are told.
};
std::string run(const ModelRun& plan, Figures& figures);

}  // namespace perennial::simulation
