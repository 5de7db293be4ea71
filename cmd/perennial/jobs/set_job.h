#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct SetJobOptions {
  ServerAddress server = {};
  std::vector<std::string> ids;
  // Options of the protocol, as they were given.
  std::optional<std::string> tube = {};
  std::optional<std::string> priority = {};
  std::optional<std::string> delay = {};
  std::optional<std::string> ttr = {};
  std::optional<std::string> expire = {};
  std::optional<std::string> tries = {};
  std::optional<std::string> backoff = {};
  std::optional<std::string> dead = {};
};

// perennial set job: changes jobs.
Status set_jobs(const SetJobOptions& options);
Subcommand set_job_command(SetJobOptions& options);

}  // namespace perennial::tool
