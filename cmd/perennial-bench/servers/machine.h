#pragma once

#include <string>

namespace perennial::bench {

// Processor, cores, memory, kernel; and, of the disk that holds `dir`, what a small synced write
// takes. An empty `dir`: nothing about a disk.
std::string describe_machine(const std::string& dir);

}  // namespace perennial::bench
