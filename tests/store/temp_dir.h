#pragma once

#include <string>

namespace perennial::store {

// A directory in memory, removed at the end. A name below it is a data directory that is not there
// yet.
class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  const std::string& path() const { return path_; }
  std::string data_dir() const { return path_ + "/data"; }

 private:
  std::string path_;
};

void write_file(const std::string& path, const std::string& content);

}  // namespace perennial::store
