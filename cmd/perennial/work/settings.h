#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/server_connection.h"
#include "cmd/perennial/work/policy.h"

namespace perennial::tool::work {

// What a worker does, read from its command line and checked.
struct Settings {
  ServerAddress server;
  std::vector<std::string> tubes;    // At least one.
  std::vector<std::string> command;  // The program and its arguments, "{}" not yet replaced.
  uint32_t runners = 1;              // Commands that run at a time.
  Policy policy = {};
  std::chrono::seconds grace{30};  // What commands have to finish when the worker is stopped.
  std::optional<std::chrono::seconds> timeout = {};  // How long a command may run.
  std::optional<std::chrono::seconds> touch = {};    // None: a third of the job's ttr.
  std::optional<std::chrono::seconds> retry = {};    // None: waits for the server without end.
  std::optional<uint64_t> jobs_max = {};             // None: no limit.
  bool drain = false;                                // Ends when there is no ready job.
  bool notes = true;  // A command that fails leaves a note, if the server takes notes.
};

}  // namespace perennial::tool::work
