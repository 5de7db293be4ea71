#pragma once

#include <string>
#include <vector>

#include "engine/types/status.h"

// The program of the command, as a shell finds it.
namespace perennial::tool::work {

// Exit statuses of a shell whose command cannot be started.
inline constexpr int status_not_executable = 126;
inline constexpr int status_not_found = 127;

// Why a program cannot be started, by the number of the error. NotFound: it, or its interpreter,
// does not exist. Unsupported: it may not be executed. Io: the system is short of something at
// present.
Status not_started(const std::string& name, int error);

// Whether the program's name has "{}", so that it is known only with a job.
bool is_named_by_job(const std::vector<std::string>& command);
// Whether the command's program can be started, as far as its file shows. One that a job names
// passes.
Status check_program(const std::vector<std::string>& command);

// The exit status of a shell for such a failure. 0: another job may fare better.
int status_of(const Status& failure);

}  // namespace perennial::tool::work
