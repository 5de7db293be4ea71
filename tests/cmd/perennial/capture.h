#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "engine/types/status.h"

namespace perennial::tool {

inline std::string read_file(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

// The output of a command and its status.
struct Captured {
  Status status;
  std::string text;
};

// Runs a command whose output goes to a file in `dir`, which is removed afterwards.
inline Captured capture(const std::string& dir, const std::function<Status(int fd)>& run) {
  const std::string path = dir + "/captured";
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  CHECK(fd >= 0);
  Status status = run(fd);
  ::close(fd);
  Captured out = {.status = std::move(status), .text = read_file(path)};
  std::filesystem::remove(path);
  return out;
}

}  // namespace perennial::tool
