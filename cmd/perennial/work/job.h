#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"

namespace perennial::tool::work {

// A job that the worker has reserved, with what stats-job says of it.
struct Job {
  JobId id = 0;
  std::string body = {};
  std::string tube = {};
  uint32_t priority = 0;
  uint32_t ttr_s = 1;
  uint64_t attempt = 1;          // Its reserves, this one included.
  uint64_t failures_before = 0;  // Its releases and timeouts.
  std::string schedule = {};     // That has put it. Empty: none.
  std::string planned = {};      // For this time, in RFC 3339 and UTC.
};

// The command with each "{}" replaced by the id of the job. No shell reads it.
std::vector<std::string> command_for(const std::vector<std::string>& command, JobId id);
// What the command is told of its job: "PERENNIAL_JOB_ID=12" and others.
std::vector<std::string> environment_of(const Job& job);

// The command on one line, words with spaces quoted. It is for people and not for a shell.
std::string command_text(const std::vector<std::string>& command);

}  // namespace perennial::tool::work
