#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "engine/tables/tube.h"
#include "engine/types/basic.h"
#include "engine/types/reply.h"

namespace perennial::engine {

// A listing of so many tubes that it is given in parts, over several turns. It names the tubes as
// they were when the first part was made. Tubes that end meanwhile are kept until the listing is
// complete (TubeTable::ended).
struct Listing {
  // The connection whose watched tubes are listed; 0 for a listing of all tubes.
  ConnId watcher = 0;
  // ---- Set when the listing begins.
  bool begun = false;
  // The connections that get the listing. All get the same one.
  std::vector<ConnId> askers = {};
  std::vector<const Tube*> tubes = {};
  NamesSize size = {};
  size_t next = 0;  // The index of the first tube that has not been given.
};

// All of them. engine/operations gives them.
struct Listings {
  std::deque<Listing> queue;  // Only the first may have begun.
  // Who asked for the listing of all tubes that has not begun.
  std::vector<ConnId> askers;
};

}  // namespace perennial::engine
