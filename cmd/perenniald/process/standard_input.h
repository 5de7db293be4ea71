#pragma once

#include "engine/types/status.h"

namespace perennial::perenniald {

// Whether standard input can tell that the program at its other end is gone: a pipe, a socket or a
// terminal can. InvalidArgument: it is a file or /dev/null, which has ended already.
Status check_standard_input();

// Reads standard input on a thread of its own, and forgets what comes. At its end, the process gets
// SIGTERM. REQUIRES: check_standard_input(), and SIGTERM is handled.
void exit_with_standard_input();

}  // namespace perennial::perenniald
