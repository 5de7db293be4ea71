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

// Files and directories as a copy of a database needs them: written whole and synced, linked,
// hashed, removed. On the file system that RocksDB runs on, so that tests can make it fail.
namespace perennial::store {

class FileTree {
 public:
  // Said by whoever waits for long work: true when nobody wants it any more.
  using Cancelled = std::function<bool()>;
  // Told how many more bytes have been read.
  using Progress = std::function<void(uint64_t)>;

  // The machine's if null. It must outlive this.
  explicit FileTree(rocksdb::Env* env);

  Result<bool> exists(const std::string& path) const;
  // What is in a directory, sorted.
  Result<std::vector<std::string>> list(const std::string& dir) const;
  Result<uint64_t> size_of(const std::string& path) const;
  // Fails if it is there. Its name is durable once its parent is synced.
  Status make_dir(const std::string& path) const;

  // The whole file, which is small.
  Result<std::string> read(const std::string& path) const;
  // In hexadecimal; hash.h.
  Result<std::string> hash(const std::string& path, const Cancelled& cancelled = {},
                           const Progress& progress = {}) const;

  // Each makes a file and its content durable; not its name. A copy ends after `bytes_max` bytes.
  Status write(const std::string& path, std::string_view bytes) const;
  Status copy(const std::string& from, const std::string& to,
              uint64_t bytes_max = std::numeric_limits<uint64_t>::max()) const;
  Status sync(const std::string& path) const;

  Status link(const std::string& from, const std::string& to) const;
  Status rename(const std::string& from, const std::string& to) const;
  Status sync_dir(const std::string& path) const;
  // Renames, durably. After a failure it has its old name, unless the disk refuses that, too.
  Status publish(const std::string& from, const std::string& to) const;
  // With all that is in it. What is not there is gone already.
  Status remove(const std::string& path) const;

 private:
  // Calls with one piece after the other.
  Status read_pieces(const std::string& path, const Cancelled& cancelled,
                     const std::function<Status(std::string_view)>& take) const;

  rocksdb::FileSystem& fs_;
};

// The directory that holds `path`, "." if it says none.
std::string parent_of(const std::string& path);

}  // namespace perennial::store
