#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/perennial/live/live.h"

namespace perennial::tool {

// One command for each of several jobs, for the subcommands that take ids.
struct EachJob {
  std::string_view subcommand;  // Heads the lines about those that failed.
  std::string_view done;        // "deleted": printed for each that was.
  std::function<Command(JobId)> command;
  Word success;
  // Why NOT_FOUND, for a job that is there, in this state.
  std::function<std::string(std::string_view state)> reason;
};

// Tries them all. Each failure is a line on standard error, and then the status is one.
Status run_on_each(ServerConnection& server, const std::vector<JobId>& ids, const EachJob& what);

// For a list of ids of which some failed; ok when none did.
Status count_failures(size_t failed, size_t total);

}  // namespace perennial::tool
