#pragma once

#include <filesystem>
#include <string>
#include <system_error>

#include <stdlib.h>  // mkdtemp is POSIX, not C++.

#include "engine/types/check.h"

namespace perennial::support {

// A new directory under `parent`, TMPDIR or /tmp. The destructor removes it with its content.
class TempDir {
 public:
  explicit TempDir(const std::string& root = default_root())
      : path_(root + "/perennial-test-XXXXXX") {
    CHECK(::mkdtemp(path_.data()) != nullptr);
  }
  ~TempDir() {
    std::error_code failed;  // An error is ignored, since the system clears /tmp.
    std::filesystem::remove_all(path_, failed);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }

 private:
  static std::string default_root() {
    const char* const root = ::getenv("TMPDIR");
    return root != nullptr ? root : "/tmp";
  }

  std::string path_;
};

}  // namespace perennial::support
