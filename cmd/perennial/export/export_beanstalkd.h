#pragma once

#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct ExportOptions {
  ServerAddress server = {};
  std::string to;
  std::vector<std::string> tubes;  // Empty: all tubes.
  bool drops_options = false;      // Move also jobs that lose options by it.
  bool dry_run = false;
  bool json = false;
};

// perennial export-beanstalkd: moves jobs to any server that speaks the protocol. Prints what was
// moved and what was left, and fails if anything was left.
Status export_beanstalkd(const ExportOptions& options);
Subcommand export_beanstalkd_command(ExportOptions& options);

}  // namespace perennial::tool
