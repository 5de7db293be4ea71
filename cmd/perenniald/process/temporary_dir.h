#pragma once

#include <string>
#include <utility>

#include "engine/types/status.h"

namespace perennial::perenniald {

// A directory that goes with this object, and all that is in it. While it exists it is locked, so
// that another process can tell it from one whose process was killed.
//
// Nothing can be removed after SIGKILL. What that leaves is removed by the next one that is made
// beside it.
class TemporaryDir {
 public:
  // `pattern`: an absolute path or one of the working directory, which ends with "-XXXXXX"; a part
  // of its own replaces the six letters. Mode 0700. First removes directories of the same pattern
  // that belong to this user, that this function has made and nobody has copied or renamed, and in
  // which no process works. Io: it cannot be made.
  static Result<TemporaryDir> create(const std::string& pattern);
  TemporaryDir(TemporaryDir&& other) noexcept;
  TemporaryDir& operator=(TemporaryDir&&) = delete;
  // Logs what cannot be removed.
  ~TemporaryDir();

  // The directory for the data, within the one that was made.
  std::string path() const;

 private:
  TemporaryDir(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;  // Empty: another object has it.
  int lock_;          // The descriptor of the directory.
};

}  // namespace perennial::perenniald
