#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

// Says what became of each of several jobs: line by line, or at the end as one object of JSON.
class EachJobReport {
 public:
  // `subcommand` precedes the lines about failures. `done`: "deleted". Both outlive the report.
  EachJobReport(std::string_view subcommand, std::string_view done, bool json)
      : subcommand_(subcommand), done_(done), json_(json) {}

  void succeeded(JobId id);
  void failed(JobId id, std::string message);
  // Ends it. `ended` is why not all jobs were tried. Returns that, or an error if a job failed.
  Status finish(Status ended);

 private:
  const std::string_view subcommand_;
  const std::string_view done_;
  const bool json_;
  std::vector<JobId> succeeded_;  // Those of JSON.
  std::vector<std::pair<JobId, std::string>> failed_;
  size_t success_count_ = 0;
};

// One command that is run for each of several jobs, for the subcommands that take ids.
struct EachJob {
  std::string_view subcommand;  // Precedes the lines about failures.
  std::string_view done;        // "deleted": printed for each success.
  std::function<Command(JobId)> command;
  Word success;
  // Explains NOT_FOUND for a job that exists in this state.
  std::function<std::string(std::string_view state)> reason;
  bool json = false;  // Whether it reports as JSON.
};

// Runs the command for all jobs, and reports each. Returns an error if there was one.
Status run_on_each(ServerConnection& server, const std::vector<JobId>& ids, const EachJob& what);

}  // namespace perennial::tool
