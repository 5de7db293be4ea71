#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"
#include "store/disk/file_tree.h"

// The directory `set-aside` in a data directory: files as they were before a forced start cut them,
// and whether that start is complete. Only files of store/ include this header.
namespace perennial::store {

inline constexpr std::string_view set_aside_name = "set-aside";

class SetAside {
 public:
  // `env`: the environment whose file system is used, the machine's if null.
  SetAside(rocksdb::Env* env, const std::string& data_dir);

  // Whether a forced start began to change files and did not reach its end.
  Result<bool> is_unfinished() const;
  // Keeps the files, and notes the outcome that the start has announced. It is durable on return. A
  // file of the same name that is kept already stays, because it is the older one: the start
  // was interrupted, and is repeated.
  Status begin(const std::vector<std::string>& paths, std::string_view outcome) const;
  // Notes that the start is complete.
  Status finish() const;
  // Removes the directory, if there is one.
  Status remove() const;

 private:
  Status keep(const std::string& path) const;

  const FileTree tree_;
  const std::string data_dir_;
  const std::string path_;
  const std::string unfinished_;  // The path of the file that exists until the start is complete.
};

}  // namespace perennial::store
