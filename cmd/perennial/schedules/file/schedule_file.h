#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "cmd/perennial/schedules/server_schedules.h"
#include "engine/types/command.h"
#include "engine/types/extension.h"
#include "engine/types/status.h"

// A file of schedules, which `perennial schedule apply` brings to a server:
//
//   zone: Europe/Berlin    # Of each `cron` that says none.
//   schedules:
//   - name: nightly
//     tube: reports
//     cron: 0 3 * * *
//     body: report
//
// The keys are the flags of `perennial schedule set`, `priority` for its `pri`, and `body_file`,
// whose path begins at the folder of the file. A body with the tag !!binary is in base64.
namespace perennial::tool {

struct WantedSchedule {
  SetSchedule command;  // Without the size of the body.
  ExtensionSet needed;  // What the server must allow for it.
  std::string body;
};

struct ScheduleFile {
  std::vector<WantedSchedule> schedules;  // In the order of the file.
  // The tubes whose schedules are all of this file: those of its schedules, and those of the key
  // `tubes` beside `schedules`, which is for a tube that may have none left.
  std::set<std::string, std::less<>> tubes;
};
// `path`: "-" is standard input, whose paths begin at the current folder. InvalidArgument: the file
// cannot be read, or is wrong; the message names the file, the line, the schedule and the key.
Result<ScheduleFile> read_schedule_file(const std::string& path);

// The schedules as such a file: those values that are not what a schedule has anyway, and the
// anchor of a period. A body that YAML cannot hold as text is in base64. Pure.
std::string schedule_file_text(const std::vector<ToldSchedule>& schedules);

}  // namespace perennial::tool
