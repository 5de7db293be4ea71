#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cmd/common/tool/subcommand.h"
#include "engine/types/status.h"

// --schedules, of the subcommands that make a copy of a data directory. Two servers that have the
// same schedules put each job twice.
namespace perennial::tool {

// `how` is "paused", if nothing is said, or "active".
Flag copied_schedules_flag(std::string& how);
// InvalidArgument: it is something else.
Status check_copied_schedules(std::string_view how);
// What says that so many were paused, and how that ends. `command` has made the copy.
std::string schedules_paused_text(uint64_t paused, std::string_view command);

}  // namespace perennial::tool
