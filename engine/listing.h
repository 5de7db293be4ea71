#pragma once

#include <cstddef>
#include <vector>

#include "engine/tube.h"
#include "engine/types/basic.h"
#include "engine/types/reply.h"

namespace perennial::engine {

// A listing of so many tubes that it is given in parts, over several turns. It names the tubes as
// they were when it began: the engine keeps those that end meanwhile until it is over.
struct Listing {
  ConnId watcher = 0;  // Lists the tubes that this connection watches; 0: all tubes.
  // ---- Decided when it begins.
  bool begun = false;
  std::vector<ConnId> askers = {};  // They all get the same.
  std::vector<const Tube*> tubes = {};
  NamesSize size = {};
  size_t next = 0;  // The first of them that has not been given.
};

}  // namespace perennial::engine
