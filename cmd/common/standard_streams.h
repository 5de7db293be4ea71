#pragma once

#include "engine/types/status.h"

// Standard input, output and error of a program.
namespace perennial::common {

// Opens /dev/null in place of each of them that the parent process has closed. Otherwise the next
// file or socket gets its number, and what the program prints goes there. It runs by itself
// before main() in every program that is linked with this file; main() calls it for clarity.
void open_standard_streams();

// Writes what stdout still holds, and closes it. Io or NoSpace: some of the output was not written,
// now or earlier. A program that ends with success calls this first, because exit() ignores such a
// failure.
Status close_standard_output();

}  // namespace perennial::common
