#pragma once

#include <string>

#include "engine/types/status.h"

namespace perennial::perenniald {

// Why the process ends: its exit code, and the line that it logs.
struct Failure {
  int exit_code = 0;
  std::string at;  // The name of the log event.
  std::string message;
};

// Whether a store could not be opened because its database is damaged. A directory that is not one
// of ours is not, nor is a checkpoint.
bool is_damage(const Status& status);

// The failure that ends the process when the store cannot be opened, or when a write, a read or a
// sync fails while it runs. Of a damaged data directory the message ends with the one command that
// says what to do.
Failure open_failure(const Status& status, const std::string& data_dir);
Failure running_failure(const Status& status);

// Logs the failure, and returns its exit code.
int report(const Failure& failure);
// Logs the failure and ends the process at once, without destructors: memory is ahead of the disk,
// and code that still runs must use neither. Any thread may call it.
[[noreturn]] void end_process(const Failure& failure);

}  // namespace perennial::perenniald
