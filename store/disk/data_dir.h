#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/types/status.h"

namespace perennial::store {

// The directory that holds everything: makes it, locks it, and refuses what is not ours. It holds
// `lock`, `db/`, `durable`, `ballast` and `checkpoints/`; store/README.md. Knows nothing of what is
// in db/. Movable; the lock is held for as long as the object lives.
class DataDir {
 public:
  // Makes the directory if there is none, and takes its lock. Fails with Locked, with Io where
  // permission is missing, and with Corruption where the directory is somebody else's.
  static Result<DataDir> open(const std::string& path);

  DataDir(DataDir&& other) noexcept;
  DataDir& operator=(DataDir&&) = delete;
  ~DataDir();

  // Whether there is a database yet. Without one it is made at new_db_path(), and then published
  // under its own name, so that a crash leaves none rather than half of one.
  bool has_db() const;
  const std::string& path() const { return path_; }
  std::string db_path() const { return path_ + "/db"; }
  std::string new_db_path() const { return path_ + "/db.new"; }
  // Makes an empty directory at new_db_path(), whatever a crash left there.
  Status begin_new_db();
  Status publish_new_db();

  // The ballast: a file that holds nothing but room. How much, or 0 without one.
  uint64_t ballast_bytes() const;
  // Makes it anew. A failure leaves none.
  Status make_ballast(uint64_t bytes) const;
  Status remove_ballast() const;

 private:
  std::string ballast_path() const { return path_ + "/ballast"; }
  DataDir(std::string path, int lock_file) : path_(std::move(path)), lock_file_(lock_file) {}

  std::string path_;
  int lock_file_;
};

// Keeps servers out of a directory that is only read, and lets other readers in. Makes nothing: a
// checkpoint has no lock file and needs none. Movable.
class ReadLock {
 public:
  // NotFound: there is no such directory. Corruption: it holds no database of ours. Locked: a
  // server has it open.
  static Result<ReadLock> take(const std::string& path);
  ReadLock(ReadLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  ReadLock& operator=(ReadLock&&) = delete;
  ~ReadLock();

 private:
  explicit ReadLock(int file) : file_(file) {}

  int file_;  // -1: there is nothing to lock.
};

// Makes the entries of a directory durable: what was created, renamed and deleted in it.
Status sync_dir(const std::string& path);

// A failed call of the operating system: NoSpace for a full disk or quota, otherwise Io.
Status from_errno(int error, const std::string& doing);

}  // namespace perennial::store
