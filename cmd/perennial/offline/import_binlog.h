#pragma once

#include <string>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/status.h"

namespace perennial::tool {

struct ImportOptions {
  std::string from;  // beanstalkd's -b.
  std::string to;    // A data directory that is not there yet.
  bool dry_run = false;
  bool skip_damaged = false;
  bool json = false;
};

// perennial import-binlog: the jobs of a beanstalkd, into a new data directory. Prints what there
// was to standard output. Never writes in the directory it reads from.
Status import_binlog(const ImportOptions& options);
Subcommand import_binlog_command(ImportOptions& options);

}  // namespace perennial::tool
