#pragma once

#include <cstdint>

#include "engine/types/stats.h"

// What the server knows of its own process.
namespace perennial::perenniald {

// The facts that never change, drawn once at the start.
ProcessFacts fixed_process_facts(uint64_t job_bytes_max);
// Processor time used so far.
void add_usage(ProcessFacts& facts);

// Sees to it that a crash leaves a core dump, as far as the hard limit allows, or that it leaves
// none: a dump holds the bodies of jobs, and lies where nobody looks after it. Call it after the
// user was changed, which takes the right to be dumped away.
//
// None is left by a soft limit of one byte. Less than a page is no file; and where the kernel pipes
// dumps to a program, for which it ignores any other limit, 1 is the value at which it does not
// start that program (fs/coredump.c). The other way, PR_SET_DUMPABLE, would give /proc/PID to root,
// and keep gdb, perf and ss from whoever runs the server. The hard limit stays, so that dumps of a
// running server can be asked for: prlimit --core=unlimited --pid PID.
void settle_core_dumps(bool wanted);

}  // namespace perennial::perenniald
