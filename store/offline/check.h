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

// A fault of a data directory.
struct Fault {
  std::string where;  // A family, or "directory" for a fault of the whole directory.
  std::string key;    // The key in hexadecimal, or the name of a table file; may be empty.
  std::string what;
};

struct CheckOptions {
  std::string path = {};  // A data directory or a checkpoint.
  // Also checks the hash of every body, and the checksum of every block of the tables that hold
  // bodies.
  bool deep = false;
  // Called with each fault when it is found.
  std::function<void(const Fault&)> fault = {};
  // Returns whether a tube may have this name, which the protocol decides. Every name is allowed if
  // empty.
  std::function<bool(std::string_view)> is_tube_name = {};
  // Called every 256 jobs with the number of jobs that were checked.
  std::function<void(uint64_t)> progress = {};
  Events events = {};
  // The environment whose file system is used, the machine's if null.
  rocksdb::Env* env = nullptr;
};

// What was checked, and how many faults were found.
struct CheckSummary {
  std::array<uint64_t, job_states.size()> jobs = {};  // Rows by state.
  uint64_t bodies = 0;
  uint64_t body_bytes = 0;
  uint64_t tubes = 0;
  uint64_t pauses = 0;
  uint64_t settings = 0;
  uint64_t keys = 0;
  uint64_t notes = 0;
  uint64_t ended = 0;  // Jobs that have ended and are kept.
  uint64_t schedules = 0;
  uint64_t tables = 0;
  uint64_t faults = 0;
  // Whether a server starts nevertheless: the only faults are of bodies, notes and ended jobs,
  // whose damage it contains.
  bool starts = false;
};

// Checks a whole data directory, changes nothing, and does not stop at a fault. It finds rows that
// do not decode, jobs in two states, a job without a body or a body without a job, ended jobs that
// do not fit the order and the places of their tubes, wrong sizes and
// hashes, ids that are not below the next id, wrong tubes and settings, keys that do not fit the
// jobs that hold them, notes without a job or that their job does not count, jobs that count notes
// which are not there, schedules of which one row is missing, unknown rows of meta, and tables with
// wrong checksums or counts. If a family cannot be read to its end, the rest of that family is
// skipped and the others are checked. A directory that does not open is one fault. The memory does
// not grow with the number of jobs.
//
// NotFound: there is no such directory. Locked: a server uses it. Io: it cannot be read.
Result<CheckSummary> check_directory(const CheckOptions& options);

}  // namespace perennial::store
