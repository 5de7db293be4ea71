#pragma once

#include <string>

#include "engine/types/status.h"

namespace perennial::tool {

struct ImportOptions {
  std::string from;  // The directory of beanstalkd's -b.
  std::string to;    // A data directory that does not exist yet.
  bool dry_run = false;
  bool skip_damaged = false;
  bool json = false;
};

// perennial import-binlog: imports the jobs of a beanstalkd into a new data directory. Prints to
// standard output what was found. Never writes into the directory that it reads.
Status import_binlog(const ImportOptions& options);

}  // namespace perennial::tool
