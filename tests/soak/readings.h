#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/server_process.h"

namespace perennial::soak {

// What a server costs at one moment, from the outside but for its own loop_lag.
struct Reading {
  double seconds = 0;  // Since the run began.
  uint64_t resident_bytes = 0;
  uint64_t descriptors = 0;
  uint64_t sockets = 0;     // Of the descriptors.
  uint64_t disk_bytes = 0;  // Of its directory, the ballast left out.
  uint64_t p99_ms = 0;
  uint64_t loop_lag_us = 0;
  uint64_t jobs = 0;
  std::string state;
};

// What can be read of a running server.
Reading read_server(const support::ServerProcess& server, const std::string& data_dir);
// Those of a run as a table, a line each, and a head.
std::string table(const std::vector<Reading>& readings);

}  // namespace perennial::soak
