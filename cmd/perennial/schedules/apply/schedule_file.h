#pragma once

#include <string>
#include <vector>

#include "engine/types/command.h"
#include "engine/types/extension.h"
#include "engine/types/status.h"

// A file of schedules, which `perennial schedule apply` brings to a server:
//
//   schedules:
//   - name: nightly
//     tube: reports
//     cron: 0 3 * * *
//     zone: Europe/Berlin
//     body: report
//
// The keys are the flags of `perennial schedule set`, and `body_file`, whose path begins at the
// folder of the file.
namespace perennial::tool {

struct WantedSchedule {
  SetSchedule command;  // Without the size of the body.
  ExtensionSet needed;  // What the server must allow for it.
  std::string body;
};

// The schedules in the order of the file. InvalidArgument: the file cannot be read, or is wrong;
// the message names the file, the line, the schedule and the key.
Result<std::vector<WantedSchedule>> read_schedule_file(const std::string& path);

}  // namespace perennial::tool
