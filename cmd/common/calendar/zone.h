#pragma once

#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "engine/types/status.h"

// Time zones, as the system's tzdata has them.
namespace perennial::calendar {

// NotFound: the system has no zone of this name, such as Europe/Berlin or UTC. A zone is read when
// it is first asked for, and stays as it was read until the process ends.
Result<absl::TimeZone> find_zone(std::string_view name);

// Which tzdata the system has: "2025b". Empty: it does not say. Reads the disk.
std::string tzdata_version();

}  // namespace perennial::calendar
