#pragma once

#include <cstdint>
#include <string>

#include <unistd.h>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/status.h"

// Subcommands about a data directory that no server uses, and what those do that tests call.
namespace perennial::tool {

Subcommand check_command();
Subcommand repair_command();
Subcommand migrate_command();
Subcommand import_binlog_command();

struct CheckOptions {
  std::string data_dir = {};  // Or a checkpoint.
  bool deep = false;
  uint64_t limit = 1000;  // The maximum number of faults to show.
  bool json = false;
};

// perennial check: finds every fault in a data directory that no server uses, or in a checkpoint.
// Prints the faults to `fd` and changes nothing. Corruption: there are faults.
Status check(const CheckOptions& options, int fd = STDOUT_FILENO);

struct RepairOptions {
  std::string data_dir = {};
  std::string checkpoint = {};  // checkpoint_for_salvage().
  bool yes = false;
  bool json = false;
};

// perennial repair: makes a new database from all that can be read of a damaged one. Prints to `fd`
// what will come of it, and asks before it changes anything.
Status repair(const RepairOptions& options, int fd = STDOUT_FILENO);

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
