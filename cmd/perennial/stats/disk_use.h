#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/types/status.h"

namespace perennial::tool {

// What takes the disk of a data directory, by kind, in bytes that are allocated.
struct DiskUse {
  struct Row {
    std::string kind;  // "log": a key of the JSON, too.
    std::string what;  // For people.
    uint64_t files = 0;
    uint64_t bytes = 0;   // Of files that no row before this one has.
    uint64_t shared = 0;  // Of files that one has: other names of the same blocks.
  };
  std::string path;
  std::vector<Row> rows = {};  // Those that have a file.
  uint64_t free_bytes = 0;     // Of the file system.
  uint64_t disk_bytes = 0;

  uint64_t total() const;
};

// Reads names and sizes only, so that a server may run: a file that is removed meanwhile is left
// out. NotFound: there is no such directory. Corruption: it holds no database. Io: it may not be
// read.
Result<DiskUse> read_disk_use(const std::string& path);

std::string disk_table(const DiskUse& use);
std::string disk_json(const DiskUse& use);

}  // namespace perennial::tool
