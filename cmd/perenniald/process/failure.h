#pragma once

#include <string>

#include "engine/types/status.h"

namespace perennial::perenniald {

// Why the process ends: its exit code, and the one line that says so.
struct Failure {
  int exit_code = 0;
  std::string at;  // The event's name in the log.
  std::string message;
};

// What a failed start of the store, or a failed write, read or sync while running, ends with.
Failure open_failure(const Status& status);
Failure running_failure(const Status& status);

// Logs the failure, and returns its exit code.
int report(const Failure& failure);
// Logs the failure and ends the process at once, with no destructors: memory is ahead of the disk,
// and nothing that still runs may touch either. From any thread.
[[noreturn]] void end_process(const Failure& failure);

}  // namespace perennial::perenniald
