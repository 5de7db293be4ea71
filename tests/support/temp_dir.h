#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include <stdlib.h>  // mkdtemp is POSIX, not C++.

#include "engine/types/check.h"

namespace perennial::support {

// A new directory under TMPDIR or /tmp. Removes it and all its content at the end.
class TempDir {
 public:
  TempDir() {
    const char* root = ::getenv("TMPDIR");
    path_ = std::string(root != nullptr ? root : "/tmp") + "/perennial-test-XXXXXX";
    CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~TempDir() {
    std::error_code failed;  // Nothing can be done about it here, and the system clears /tmp.
    std::filesystem::remove_all(path_, failed);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace perennial::support
