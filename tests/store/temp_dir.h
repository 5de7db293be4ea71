#pragma once

#include <cstdint>
#include <string>

#include "tests/support/temp_dir.h"

namespace perennial::store {

// A directory in memory, removed at the end. A name below it is a data directory that is not there
// yet.
class TempDir : public support::TempDir {
 public:
  TempDir() : support::TempDir("/dev/shm") {}

  std::string data_dir() const { return path() + "/data"; }
};

void write_file(const std::string& path, const std::string& content);

// About where a log ends that has zeros behind it: behind its last byte that is none.
uint64_t log_end(const std::string& path);

}  // namespace perennial::store
