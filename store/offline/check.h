#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "engine/types/status.h"
#include "store/format/format.h"
#include "store/types/options.h"

namespace perennial::store {

// One thing that is wrong in a data directory.
struct Fault {
  std::string where;  // A family, or "directory" for what concerns all of it.
  std::string key;    // In hexadecimal, or the name of a table file; empty if neither.
  std::string what;
};

struct CheckOptions {
  std::string path = {};  // A data directory or a checkpoint.
  // Also computes the hash of every body, and of every block of the tables that hold bodies.
  bool deep = false;
  // Takes every fault as it is found.
  std::function<void(const Fault&)> fault = {};
  // What a tube may be called, which the protocol decides; anything if empty.
  std::function<bool(std::string_view)> is_tube_name = {};
  // Told how many jobs were looked at, now and then.
  std::function<void(uint64_t)> progress = {};
  Events events = {};
  // The file system, the machine's if null.
  rocksdb::Env* env = nullptr;
};

// What was looked at.
struct CheckSummary {
  std::array<uint64_t, job_states.size()> jobs = {};  // Rows by state.
  uint64_t bodies = 0;
  uint64_t body_bytes = 0;
  uint64_t tubes = 0;
  uint64_t pauses = 0;
  uint64_t tables = 0;
  uint64_t faults = 0;
};

// Looks at all that a data directory holds, changes nothing, and does not stop at a fault: rows
// that do not decode, jobs in two states, jobs and bodies that do not pair off, sizes and hashes,
// ids that are not below the next one, tubes, unknown keys, the checksums of table files, and their
// counts. Where a family cannot be read any further, the rest of it is left out, and the others go
// on. A directory that does not open is one fault. Memory does not grow with the number of jobs.
//
// NotFound: there is no such directory. Locked: a server uses it. Io: it cannot be read.
Result<CheckSummary> check_directory(const CheckOptions& options);

}  // namespace perennial::store
