#pragma once

#include <string>

#include "engine/types/status.h"
#include "store/format/format.h"
#include "tests/store/world.h"

// What a Reader sees of a data directory, damaged or not.
namespace perennial::store {

struct Seen {
  Status opened;
  CommitRow commit;
  JobId next_id = 0;
  Result<Image> image = Image();
  std::string damaged_bodies;  // The ids of those that are not what was written.
  bool has_changed = false;    // The directory, while it was read.
};

Seen look_at(const std::string& path);

// How a start that comes afterwards finds something else, or nothing. `found` and `damaged_bodies`
// are what it has loaded and read.
std::string difference(const Seen& seen, const Opening& opening, const Result<Image>& found,
                       const std::string& damaged_bodies);
// Likewise where it was refused.
std::string difference(const Seen& seen, const Status& refused);

}  // namespace perennial::store
