#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/perennial-bench/results/latencies.h"
#include "engine/types/basic.h"

// What a bench finds out: written by the workloads, read by the table, the JSON and the
// check against budgets.
namespace perennial::bench {

// A number that is neither a rate nor a latency: seconds until a start is done, bytes resident.
// Less is better for all of them.
struct Figure {
  std::string name;  // "start", "resident", "disk", "cost"
  std::string unit;  // "s", "bytes", "us"
  double value = 0;
};

// One operation of one workload at one setting on one server, over all its rounds.
struct Measurement {
  std::string workload;   // "put", "cycle-deep"
  std::string setting;    // "50x1", "10000000 jobs"; empty if the workload has one only.
  std::string server;     // NAME of --against, or the address.
  std::string operation;  // "put", "reserve", "cycle": what is counted and timed.

  Latencies latencies = {};             // Of all rounds together. May be empty.
  std::vector<double> per_second = {};  // One for each round. May be empty.
  std::vector<uint64_t> timeline = {};  // Operations ended in each interval of the last round.
  std::vector<Figure> figures = {};     // Medians of the rounds. May be empty.
  double client_cpu = 0;  // The highest share of one core that the client itself took.
};

// How long an interval of a timeline is.
inline constexpr Nanos timeline_interval = nanos_per_second / 10;

// A whole run. Measurements of one workload, setting and operation follow each other, in the order
// of the servers: the first of them is what the others are compared with.
struct Report {
  std::string machine;                // Processor, cores, memory, kernel, what a sync takes.
  std::vector<std::string> versions;  // "NAME: COMMAND, version 1.12", one for each server.
  std::string preload = {};           // Of --preload, with its delay; empty if there is none.
  uint64_t seed = 0;
  double seconds = 0;  // How long each round was measured.
  uint32_t rounds = 0;
  std::vector<Measurement> measurements = {};
};

}  // namespace perennial::bench
