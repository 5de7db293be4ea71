#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "engine/types/status.h"

// What a server takes of its machine.
namespace perennial::bench {

// The memory of a process that is resident, in bytes.
Result<uint64_t> resident_bytes(pid_t process);

// The blocks of all files in a directory, in bytes, as du counts them. What vanishes meanwhile is
// not counted, nor is what a server printed.
struct DiskBytes {
  uint64_t used = 0;
  uint64_t ballast = 0;  // Files of this name: perenniald holds room free in them, on purpose.
};
Result<DiskBytes> disk_bytes(const std::string& dir);

}  // namespace perennial::bench
