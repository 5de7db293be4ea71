#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cmd/perennial-bench/results/latencies.h"
#include "engine/types/basic.h"

// The results of a bench. Workloads write them; the table, the JSON and the check of budgets read
// them.
namespace perennial::bench {

// A number that is neither a rate nor a latency, such as seconds until a start is complete or
// resident bytes. For each figure less is better.
struct Figure {
  std::string name;  // "start", "resident", "disk", "cost"
  std::string unit;  // "s", "bytes", "us"
  double value = 0;
};

// One operation of one workload at one setting on one server, over all its rounds.
struct Measurement {
  std::string workload;   // "put", "cycle-deep"
  std::string setting;    // "50x1", "10000000 jobs"; empty if the workload has only one.
  std::string server;     // NAME of --against, or the address.
  std::string operation;  // "put", "reserve", "cycle": the operation that is counted and timed.

  Latencies latencies = {};             // All rounds together. May be empty.
  std::vector<double> per_second = {};  // One value for each round. May be empty.
  std::vector<uint64_t> timeline = {};  // Operations that ended in each interval of the last round.
  std::vector<Figure> figures = {};     // Medians of the rounds. May be empty.
  double client_cpu = 0;                // The highest share of one core that the client used.
};

// The length of an interval of a timeline.
inline constexpr Nanos timeline_interval = nanos_per_second / 10;

// The result of a whole run. Measurements of one workload, setting and operation are adjacent, in
// the order of the servers. The others are compared with the first of them.
struct Report {
  std::string machine;                // Processor, cores, memory, kernel and the time of a sync.
  std::vector<std::string> versions;  // "NAME: COMMAND, version 1.12" for each server.
  std::string preload = {};           // The library of --preload with its delay, or empty.
  uint64_t seed = 0;
  double seconds = 0;  // The measured time of each round.
  uint32_t rounds = 0;
  std::vector<Measurement> measurements = {};
};

}  // namespace perennial::bench
