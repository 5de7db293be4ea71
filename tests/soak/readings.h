#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "tests/support/server_process.h"

namespace perennial::soak {

// What a server uses at one moment. All but loop_lag is measured from outside.
struct Reading {
  double seconds = 0;  // Since the run began.
  uint64_t resident_bytes = 0;
  uint64_t descriptors = 0;
  uint64_t sockets = 0;     // Among the descriptors.
  uint64_t disk_bytes = 0;  // In its directory, without the ballast.
  uint64_t p99_ms = 0;
  uint64_t loop_lag_us = 0;
  uint64_t jobs = 0;
  std::string state;
};

// Reads what is observable of a running server.
Reading read_server(const support::ServerProcess& server, const std::string& data_dir);
// The readings of a run as a table with a header and one line for each.
std::string table(const std::vector<Reading>& readings);

}  // namespace perennial::soak
