#pragma once

#include <cstdint>

#include "engine/types/basic.h"
#include "engine/types/stats.h"

// Facts of the server's own process.
namespace perennial::perenniald {

// Returns the facts that never change. Called once, at the start.
ProcessFacts fixed_process_facts(uint64_t job_bytes_max);
// Sets the processor time used so far.
void add_usage(ProcessFacts& facts);

// The memory of the process that is in RAM, in bytes; 0 if the kernel does not say.
uint64_t resident_bytes();

// Enables core dumps after a crash, up to the hard limit, or disables them: a dump holds the bodies
// of jobs, and may stay unnoticed where it is written. Call it after the change of the user, which
// disables dumps.
//
// Dumps are disabled by a soft limit of one byte. The kernel writes no file below a page. Where it
// pipes dumps to a program it ignores all limits but 1, at which it does not start that program
// (fs/coredump.c). The alternative, PR_SET_DUMPABLE, would give /proc/PID to root and block gdb,
// perf and ss for the user that runs the server. The hard limit stays, so that a dump of a running
// server can be enabled: prlimit --core=unlimited --pid PID.
void apply_core_dumps(bool wanted);

// For a process that holds keys: no dump of it is written, and other processes of its user cannot
// read its memory (prctl(2), PR_SET_DUMPABLE).
void hide_memory();

}  // namespace perennial::perenniald
