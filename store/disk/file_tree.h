#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types/status.h"

namespace rocksdb {
class Env;
class FileSystem;
}  // namespace rocksdb

// Operations on files and directories that copies of a database need: write and sync, link, hash,
// remove. They run on the file system that RocksDB uses, so that tests can inject faults.
namespace perennial::store {

class FileTree {
 public:
  // Returns true when the caller of long work wants it to stop.
  using Cancelled = std::function<bool()>;
  // Gets the number of bytes that were read since its last call.
  using Progress = std::function<void(uint64_t)>;

  // `env`: the environment whose file system is used, the machine's if null. It must outlive this.
  explicit FileTree(rocksdb::Env* env);

  Result<bool> exists(const std::string& path) const;
  // Returns the names in a directory, sorted, without "." and "..".
  Result<std::vector<std::string>> list(const std::string& dir) const;
  Result<uint64_t> size_of(const std::string& path) const;
  // Fails if `path` exists. The name is durable once the parent directory is synced.
  Status make_dir(const std::string& path) const;

  // Returns the content of a small file.
  Result<std::string> read(const std::string& path) const;
  // Returns the hash of a file in hexadecimal: hash.h. Io if `cancelled` returned true.
  Result<std::string> hash(const std::string& path, const Cancelled& cancelled = {},
                           const Progress& progress = {}) const;

  // Each of these makes the content of a file durable, but not its name. A copy ends after
  // `bytes_max` bytes.
  Status write(const std::string& path, std::string_view bytes) const;
  Status copy(const std::string& from, const std::string& to,
              uint64_t bytes_max = std::numeric_limits<uint64_t>::max()) const;
  Status sync(const std::string& path) const;

  Status link(const std::string& from, const std::string& to) const;
  Status rename(const std::string& from, const std::string& to) const;
  Status sync_dir(const std::string& path) const;
  // Renames and syncs the parent of `to`. After a failure the file has its old name, unless the
  // rename back fails, too.
  Status publish(const std::string& from, const std::string& to) const;
  // Removes a file, or a directory with its content. Succeeds if `path` does not exist.
  Status remove(const std::string& path) const;

 private:
  // Calls `take` with the pieces of a file, in order.
  Status read_pieces(const std::string& path, const Cancelled& cancelled,
                     const std::function<Status(std::string_view)>& take) const;

  rocksdb::FileSystem& fs_;
};

// Returns the directory that holds `path`, or "." if `path` is a bare name.
std::string parent_of(const std::string& path);

}  // namespace perennial::store
