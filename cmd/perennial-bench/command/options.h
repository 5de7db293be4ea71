#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tls/tls_client.h"

namespace perennial::bench {

// What to measure, as given on the command line.
struct BenchOptions {
  std::vector<std::string> workloads = {};  // Empty: put, or all of them in a quick run.

  std::string server = {};                // A running server. Empty: the local one.
  common::TlsClientSettings tls = {};     // For all servers.
  std::string token_file = {};            // For all servers. Empty: PERENNIAL_TOKEN, if it is set.
  bool insecure_token = false;            // It may go to another machine without TLS.
  std::vector<std::string> against = {};  // NAME=COMMAND: servers to start and compare.
  std::string dir = {};      // The parent of the servers' directories. Empty: TMPDIR or /tmp.
  std::string preload = {};  // LD_PRELOAD for each server.
  uint32_t preload_us = 0;   // The microseconds that the library adds to a sync.

  std::chrono::milliseconds time{5000};  // The measured time of a round.
  std::optional<uint64_t> rounds = {};   // None: three, or one if a workload fills a server.
  uint64_t seed = 1;                     // For bodies and for the choices of mixed clients.
  uint32_t body_bytes = 128;             // Unless the workload sets its own size.
  std::optional<uint64_t> jobs = {};     // The limit for workloads that fill a server.
  std::optional<uint64_t> rate = {};     // Puts per second of `steady`.
  bool quick = false;                    // Only verifies that the workloads run.
  bool list = false;                     // Only lists the workloads.

  std::string json = {};   // The file for the whole report; "-" is standard output.
  std::string plot = {};   // The file for the plot.
  std::string check = {};  // A file of budgets to check.

  std::optional<uint64_t> batch = {};  // Jobs in a batch of `cycle-batch`.

  // For the workload `custom`.
  std::optional<uint64_t> connections = {};
  std::optional<uint64_t> in_flight = {};
  std::optional<uint64_t> tubes = {};
  std::optional<uint64_t> idle = {};
};

// The measured time of each round, in seconds.
inline double measured_seconds(const BenchOptions& options) {
  constexpr std::chrono::milliseconds quick_max{100};
  const auto time = options.quick ? std::min(options.time, quick_max) : options.time;
  return std::chrono::duration<double>(time).count();
}

}  // namespace perennial::bench
