#pragma once

#include <cstdint>
#include <string>

#include "tests/support/temp_dir.h"

namespace perennial::store {

// A directory in memory that the destructor removes. data_dir() is a path below it that does not
// exist yet.
class TempDir : public support::TempDir {
 public:
  TempDir() : support::TempDir("/dev/shm") {}

  std::string data_dir() const { return path() + "/data"; }
};

void write_file(const std::string& path, const std::string& content);
// Changes one bit of the byte at this offset.
void flip_byte(const std::string& path, uint64_t at);

// Returns about where a log ends that is filled with zeros: the place after its last nonzero byte.
uint64_t log_end(const std::string& path);

}  // namespace perennial::store
