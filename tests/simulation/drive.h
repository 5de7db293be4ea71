#pragma once

#include <cstdint>
#include <functional>
#include <random>

#include "tests/simulation/clients.h"
#include "tests/simulation/server.h"

namespace perennial::simulation {

// The figures of many runs.
struct Figures {
  uint64_t runs = 0;
  uint64_t kills = 0;
  uint64_t power_cuts = 0;
  uint64_t clean_restarts = 0;
  uint64_t faults = 0;  // Faults that were injected into file calls and reached.
  uint64_t logs_truncated = 0;
  uint64_t manifests_truncated = 0;
  // Copies in which a log lost its end, and how many of them a start refused.
  uint64_t logs_lost = 0;
  uint64_t losses_refused = 0;
  uint64_t answers = 0;
  uint64_t batches = 0;
  uint64_t jobs_found = 0;  // By starts.
  uint64_t given_up = 0;    // Jobs that the checker stopped following.

  void print(const char* name) const;
};

// Draws limits of core that are small enough to be reached at times.
core::Options draw_options(std::mt19937_64& random);

// Drives a server that has just started with random clients. First an audit inspects all that is
// stored. Then come `steps` steps, each of which sends a command, advances a batch, opens or closes
// a connection, or advances time. Stops early when the history has a problem or the server has
// failed. `conn` is the number of the newest connection and is updated.
void drive(Server& server, History& history, Clients& clients, std::mt19937_64& random, int steps,
           ConnId& conn);

}  // namespace perennial::simulation
