#pragma once

#include <string>

namespace perennial::bench {

// Describes processor, cores, memory and kernel, and the time of a small synced write on the disk
// that holds `dir`. An empty `dir` leaves the disk out.
std::string describe_machine(const std::string& dir);

}  // namespace perennial::bench
