#pragma once

#include <cstdint>
#include <functional>
#include <random>

#include "tests/simulation/clients.h"
#include "tests/simulation/server.h"

namespace perennial::simulation {

// What was done, over many runs.
struct Figures {
  uint64_t runs = 0;
  uint64_t kills = 0;
  uint64_t power_cuts = 0;
  uint64_t clean_restarts = 0;
  uint64_t faults = 0;  // Injected into file calls, and met.
  uint64_t logs_cut = 0;
  uint64_t manifests_cut = 0;
  uint64_t logs_lost = 0;  // Logs that lost their end, in a copy; and how many a start refused.
  uint64_t losses_refused = 0;
  uint64_t answers = 0;
  uint64_t batches = 0;
  uint64_t given_up = 0;  // Jobs that the checker lost track of.

  void print(const char* name) const;
};

// The limits of core, drawn so that each is met at times.
core::Options draw_options(std::mt19937_64& random);

// Random clients talk to a server that has just started: first one looks at all that is there,
// then `steps` steps follow, in each of which something is sent, a batch moves on, a connection
// comes or goes, or time passes. Stops early when the history has a problem, or the server failed.
// `conn` is the last connection's number, and stays so.
void live(Server& server, History& history, Clients& clients, std::mt19937_64& random, int steps,
          ConnId& conn);

}  // namespace perennial::simulation
