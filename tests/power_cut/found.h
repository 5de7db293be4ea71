#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/types/status.h"
#include "tests/power_cut/history.h"
#include "tests/support/server_process.h"

// What a start has found on an image.
namespace perennial::power_cut {

struct FoundJob {
  JobFacts facts = {};
  std::string tube = {};
  uint32_t ttr_s = 0;
  uint32_t tries = 0;
  std::string dead = {};
  std::string key = {};
  std::string body = {};
};

struct FoundKey {
  JobId job = 0;
  bool in_cooldown = false;
};

struct Found {
  std::map<JobId, FoundJob> jobs;
  std::map<JobId, FoundJob> ended;         // Jobs that have ended and are kept.
  std::map<std::string, uint64_t> pauses;  // In seconds, by tube.
  std::map<std::string, uint32_t> tries;   // By tube.
  std::map<std::string, uint64_t> keeps;   // In seconds, by tube, with `fields`.
  std::map<std::string, FoundKey> keys;    // By tube and key, with a space between them.
  bool has_keys = true;                    // Whether `keys` was read.
  bool has_fields = true;  // Whether `keeps`, and `tries`, `dead` and `key` of jobs were read.
  JobId next_id = 0;       // No id of a job may reach it. 0: not known.
};

// Opens the store, as a start of the server does, and reads every row and every body. It runs
// RocksDB, so it belongs in a child process.
Result<Found> read_store(const std::string& data_dir);
// Asks a server for the jobs that the history knows. Its sums show whether it has others.
Result<Found> read_server(const support::ServerProcess& server, const History& history);

// Compares what was found with what may be there after a cut. Returns the first contradiction in
// words, or "".
std::string judge(const History& history, const Moment& cut, const Found& found);

}  // namespace perennial::power_cut
