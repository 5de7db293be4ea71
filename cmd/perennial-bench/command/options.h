#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace perennial::bench {

// What to measure, as it was asked for.
struct BenchOptions {
  std::vector<std::string> workloads = {};  // Empty: put; or all of them, if it is a quick run.

  std::string server = {};                // A running one. Empty: the local one.
  std::vector<std::string> against = {};  // NAME=COMMAND: servers to start and compare instead.
  std::string dir = {};      // Where the servers' directories go. Empty: TMPDIR or /tmp.
  std::string preload = {};  // LD_PRELOAD for each of them.
  uint32_t preload_us = 0;   // By how much it makes a sync longer.

  double seconds = 5;                   // How long each round is measured.
  std::optional<uint64_t> rounds = {};  // None: three, or one if they fill a server.
  uint64_t seed = 1;                    // Of the bodies, and of what mixed clients do.
  uint32_t body_bytes = 128;            // Where the workload does not say otherwise.
  std::optional<uint64_t> jobs = {};    // At most so many in workloads that fill a server.
  std::optional<uint64_t> rate = {};    // Of `steady`: puts per second.
  bool quick = false;                   // Only whether it works.
  bool list = false;                    // Only say what there is.

  std::string json = {};   // A file for the whole report; "-" is standard output.
  std::string plot = {};   // A file for the drawing.
  std::string check = {};  // A file of budgets that are to be met.

  // Of the workload `custom`.
  std::optional<uint64_t> connections = {};
  std::optional<uint64_t> in_flight = {};
  std::optional<uint64_t> tubes = {};
  std::optional<uint64_t> idle = {};
};

// How long each round is measured, in seconds.
inline double measured_seconds(const BenchOptions& options) {
  constexpr double quick_max = 0.1;
  return options.quick ? std::min(options.seconds, quick_max) : options.seconds;
}

}  // namespace perennial::bench
