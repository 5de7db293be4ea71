#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

// One command that is run for each of several jobs, for the subcommands that take ids.
struct EachJob {
  std::string_view subcommand;  // Precedes the lines about failures.
  std::string_view done;        // "deleted": printed for each success.
  std::function<Command(JobId)> command;
  Word success;
  // Explains NOT_FOUND for a job that exists in this state.
  std::function<std::string(std::string_view state)> reason;
};

// Runs the command for all jobs. Prints a line on standard error for each failure, and returns an
// error if there was one.
Status run_on_each(ServerConnection& server, const std::vector<JobId>& ids, const EachJob& what);

// The status for a list of ids: ok if none failed.
Status count_failures(size_t failed, size_t total);

}  // namespace perennial::tool
