#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "engine/types/status.h"

namespace perennial::store {

// "/" stays as it is.
std::string without_trailing_slashes(std::string path);

// The data directory. This class makes and locks it, and refuses a directory with foreign files.
// The directory holds `lock`, `db/`, `durable`, `ballast` and `checkpoints/`; store/README.md. This
// class does not look into db/. Movable; the object holds the lock until it is destroyed.
class DataDir {
 public:
  // Makes the directory if there is none, takes its lock, and finishes the exchange of its database
  // that a crash has interrupted: replacement.h. Locked: another process has it. Io:
  // permission is missing, or the disk failed. Corruption: the directory is not a data directory.
  static Result<DataDir> open(const std::string& path);

  DataDir(DataDir&& other) noexcept;
  DataDir& operator=(DataDir&&) = delete;
  ~DataDir();

  // Returns whether there is a database. A new database is made at new_db_path() and then renamed,
  // so that a crash never leaves a partial database at db_path().
  bool has_db() const;
  const std::string& path() const { return path_; }
  std::string db_path() const { return path_ + "/db"; }
  std::string new_db_path() const { return path_ + "/db.new"; }
  // Makes an empty directory at new_db_path(), and removes what a crash left there.
  Status begin_new_db();
  Status publish_new_db();

  // The size of the ballast file in bytes, or 0 if there is none.
  uint64_t ballast_bytes() const;
  // Makes the ballast anew. A failure leaves no ballast.
  Status make_ballast(uint64_t bytes) const;
  Status remove_ballast() const;

 private:
  std::string ballast_path() const { return path_ + "/ballast"; }
  DataDir(std::string path, int lock_file) : path_(std::move(path)), lock_file_(lock_file) {}

  std::string path_;
  int lock_file_;
};

// A shared lock on a directory that is only read: it excludes servers and admits other readers. It
// creates no file. A checkpoint has no lock file and needs none. Movable.
class ReadLock {
 public:
  // NotFound: there is no such directory. Corruption: it holds no database of Perennial. Locked: a
  // server has it open.
  static Result<ReadLock> take(const std::string& path);
  ReadLock(ReadLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}
  ReadLock& operator=(ReadLock&&) = delete;
  ~ReadLock();

 private:
  explicit ReadLock(int file) : file_(file) {}

  int file_;  // -1: there is no lock file.
};

// Syncs a directory, so that the files created, renamed and deleted in it are durable.
Status sync_dir(const std::string& path);

// Converts an error of the operating system: NoSpace for a full disk or quota, otherwise Io.
// `doing` says what failed.
Status from_errno(int error, const std::string& doing);

}  // namespace perennial::store
