#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/arguments/arguments.h"

namespace perennial::tool {

struct PutOptions {
  ServerAddress server = {};
  std::vector<std::string> body;  // At most one element; "-" is standard input.
  std::string file;               // Instead of `body`.
  std::string tube = "default";
  uint32_t priority = 1024;
  std::string delay = "0";
  std::string ttr = "60";
  bool lines = false;
  // Options of the protocol, as they were given.
  std::optional<std::string> idp = {};
  std::optional<std::string> until = {};
  std::optional<std::string> tries = {};
  std::optional<std::string> backoff = {};
  std::optional<std::string> dead = {};
  std::optional<std::string> expire = {};
  std::optional<std::string> concurrency = {};
};

// perennial put: puts a job, or one job for each line. Prints the ids. Returns the exit status:
// exit_duplicate if another job has the key.
Result<int> put(const PutOptions& options);
Subcommand put_command(PutOptions& options);

}  // namespace perennial::tool
