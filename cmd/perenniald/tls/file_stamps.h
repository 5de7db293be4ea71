#pragma once

#include <cstdint>
#include <string>

namespace perennial::perenniald {

// What tells one content of a file from another without reading it. The time of the last change of
// its mode or owner counts, too, because that may make a file readable.
struct FileStamp {
  bool exists = false;
  uint64_t device = 0;
  uint64_t inode = 0;
  int64_t bytes = 0;
  int64_t content_changed_ns = 0;
  int64_t facts_changed_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

// An empty path has the stamp of a missing file.
FileStamp stamp_of(const std::string& path);

}  // namespace perennial::perenniald
