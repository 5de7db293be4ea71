#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/common/address.h"
#include "cmd/perennial/bench/latencies.h"
#include "cmd/perennial/subcommand.h"
#include "engine/types/status.h"

namespace perennial::bench {

// What to measure. The defaults are the one workload that is quoted.
struct PutOptions {
  std::string server = "127.0.0.1:11300";
  uint32_t connections = 50;
  uint32_t in_flight = 1;
  uint32_t body_bytes = 128;
  double seconds = 5;
  uint32_t tubes = 0;  // Put one job into each of so many tubes first.
  uint32_t idle = 0;   // Open so many connections first, that then say nothing.
  uint64_t seed = 1;   // Of the bytes in the body.

  std::vector<std::string> against = {};  // NAME=COMMAND: servers to start and compare.
  uint32_t rounds = 3;
  std::string dir = {};  // Where the servers' directories go. Empty: TMPDIR or /tmp.
};

// One server, over all its rounds.
struct PutResult {
  std::string name;
  Latencies latencies = {};
  std::vector<double> puts_per_second = {};
  double client_cpu = 0;  // The highest share of one core that the client itself took.
};

// Measures and prints; the Status is for what stopped it.
Status bench_put(const PutOptions& options);
tool::Subcommand bench_put_command(PutOptions& options);

// One round against a server that runs. Adds to `result`.
Status measure_put(const common::Address& server, const PutOptions& options, PutResult& result);

}  // namespace perennial::bench
