#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "engine/types/check.h"
#include "store/disk/durable_mark.h"

// Reads the files of a directory, so that tests can see and make changes.
namespace perennial::store {

struct FileBytes {
  std::string content;
  std::filesystem::file_time_type changed;

  bool operator==(const FileBytes&) const = default;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Returns every file and directory below `dir` by path. Directories have no content.
inline std::map<std::string, FileBytes> state_of(const std::string& dir) {
  std::map<std::string, FileBytes> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    const bool is_file = entry.is_regular_file();
    out[entry.path()] = {.content = is_file ? content_of(entry.path()) : "",
                         .changed = entry.last_write_time()};
  }
  return out;
}

// Returns the newest file in a data directory's database with this prefix and suffix.
inline std::string newest_file(const std::string& data_dir, const std::string& prefix,
                               const std::string& suffix) {
  std::string newest;
  for (const auto& entry : std::filesystem::directory_iterator(data_dir + "/db")) {
    const std::string name = entry.path().filename();
    if (name.starts_with(prefix) && name.ends_with(suffix)) {
      newest = std::max(newest, entry.path().string());
    }
  }
  return newest;
}
inline std::string newest_log(const std::string& data_dir) {
  return newest_file(data_dir, "", ".log");
}
inline std::string manifest_of(const std::string& data_dir) {
  return newest_file(data_dir, "MANIFEST-", "");
}

// Sets the durable mark back by one batch, as a power cut may do. The log may then end one batch
// earlier.
inline void forget_last_sync(const std::string& data_dir) {
  const auto mark = read_durable_mark(nullptr, data_dir);
  CHECK(mark.ok() && *mark);
  CHECK(DurableMarkFile::create(nullptr, data_dir,
                                {.epoch = (*mark)->epoch, .index = (*mark)->index - 1})
            .ok());
}

}  // namespace perennial::store
