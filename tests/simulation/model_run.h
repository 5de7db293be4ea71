#pragma once

#include <cstdint>
#include <string>

#include "store/types/options.h"
#include "tests/simulation/drive.h"
#include "tests/simulation/plants.h"

namespace perennial::simulation {

// The whole existence of a data directory on the model of a store: several servers in succession,
// each of which ends with a kill, a power cut or a clean stop. Everything follows from the seed.
// Returns the problem, or an empty string.
struct ModelRun {
  uint64_t seed = 0;
  store::Durability durability = store::Durability::Commit;
  Bug bug = Bug::None;
  bool ignores_images = false;  // Judge only by the answers that clients receive.
};
std::string run(const ModelRun& plan, Figures& figures);

}  // namespace perennial::simulation
