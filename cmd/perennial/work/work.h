#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cmd/common/tool/requests.h"
#include "cmd/common/tool/subcommand.h"
#include "cmd/perennial/work/settings.h"

namespace perennial::tool {

struct WorkOptions {
  ServerAddress server = {};
  std::vector<std::string> command = {};
  std::vector<std::string> tubes = {};
  uint32_t jobs = 1;
  std::chrono::seconds grace{30};
  std::optional<std::chrono::seconds> timeout = {};
  std::optional<std::chrono::seconds> touch = {};
  std::string backoff = "10:3600";
  uint64_t tries = 0;
  std::string bury_on = {};
  std::optional<uint64_t> max = {};
  bool once = false;
  bool drain = false;
  bool dry_run = false;
  bool no_notes = false;
  std::optional<std::chrono::seconds> retry = {};
  std::string log = "logfmt";
};

// What the worker is to do. InvalidArgument: the options contradict each other, or one of them
// cannot be read.
Result<work::Settings> work_settings(const WorkOptions& options);

// perennial work: runs a command for each job of some tubes. Returns the exit status.
Result<int> run_worker(const WorkOptions& options);
Subcommand work_command();

}  // namespace perennial::tool
