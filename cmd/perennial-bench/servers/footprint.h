#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "engine/types/status.h"

// The memory and disk space that a server uses.
namespace perennial::bench {

// The resident memory of a process, in bytes.
Result<uint64_t> resident_bytes(pid_t process);

// The blocks of all files in a directory, in bytes, as du counts them. Files that are deleted
// meanwhile and the log of the server are not counted.
struct DiskBytes {
  uint64_t used = 0;
  uint64_t ballast = 0;  // Files of this name, with which perenniald keeps disk space free.
};
Result<DiskBytes> disk_bytes(const std::string& dir);

}  // namespace perennial::bench
