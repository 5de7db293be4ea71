#include "store/disk/data_dir.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/disk/replacement.h"
#include "store/disk/set_aside.h"
#include "store/disk/wanted_copy.h"

namespace perennial::store {
namespace {

namespace fs = std::filesystem;

bool is_binlog(const std::string& name) {
  return name.starts_with("binlog.");
}

// db.new and the directories of replacement.h belong to us, too: a start removes them, except
// those that keep a damaged database. lost+found
// is in the root of a file system, where a data directory may be mounted.
bool is_ours(const std::string& name) {
  return name == "lock" || name == "db" || name == "db.new" || name == "ballast" ||
         name == "checkpoints" || name == "durable" || name == "durable.new" ||
         name == "lost+found" || name == "damaged" || name == set_aside_name ||
         name == incoming_name || name == replacement_name || name == peer_name ||
         name == wanted_copy_name || name == lost_jobs_name || name.starts_with(aside_prefix);
}

Status not_ours(const std::string& path, const std::string& name) {
  if (is_binlog(name)) {
    return {StatusCode::Corruption,
            fmt::format("{} holds beanstalkd's {}: give another directory, and bring its jobs over "
                        "with perennial import-binlog",
                        path, name)};
  }
  return {StatusCode::Corruption,
          fmt::format("{} is not a data directory of perennial: it holds {}", path, name)};
}

// Readers accept a checkpoint. A server refuses one, because it would change the checkpoint.
enum class Use : uint8_t { Serve, Read };

// Refuses a directory that holds a foreign file. The message names beanstalkd's binlog before other
// files, because there is a command that imports it.
Status classify(const std::string& path, Use use) {
  std::error_code error;
  std::string foreign;
  bool has_db = false;
  std::string needs_db;
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (is_binlog(name)) return not_ours(path, name);
    if (name == "manifest.json") {
      if (use == Use::Read) continue;
      return {StatusCode::Corruption,
              path + " is a checkpoint: make a data directory of it with perennial restore"};
    }
    if (!is_ours(name) && (foreign.empty() || name < foreign)) foreign = name;
    if (name == "db" || name == replacement_name) has_db = true;
    if (name == "ballast" || name == "checkpoints" || name == "durable") needs_db = name;
  }
  if (error) return from_errno(error.value(), "read directory " + path);
  if (!foreign.empty()) return not_ours(path, foreign);
  if (has_db || needs_db.empty()) return {};
  return {StatusCode::Corruption,
          fmt::format("{} holds {} but no db: its database is gone; restore "
                      "a checkpoint, or remove the directory to start empty",
                      path, needs_db)};
}

Status make_dir(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) {
    const std::string parent = fs::absolute(path).lexically_normal().parent_path();
    return sync_dir(parent.empty() ? "/" : parent);
  }
  return errno == EEXIST ? Status() : from_errno(errno, "make directory " + path);
}

Result<int> take_lock(const std::string& path) {
  const std::string name = path + "/lock";
  const int file = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return from_errno(errno, "open " + name);
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) return file;
  const int error = errno;
  ::close(file);
  if (error != EWOULDBLOCK) return from_errno(error, "lock " + name);
  return Status(StatusCode::Locked,
                fmt::format("data directory {} is in use by another process", path));
}

}  // namespace

std::string without_trailing_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Result<DataDir> DataDir::open(const std::string& raw_path) {
  if (raw_path.empty()) return Status(StatusCode::InvalidArgument, "no data directory given");
  const std::string path = without_trailing_slashes(raw_path);
  if (Status made = make_dir(path); !made.ok()) return made;
  // This comes before the lock file is made, so that a foreign directory is not changed.
  if (Status ours = classify(path, Use::Serve); !ours.ok()) return ours;
  Result<int> lock_file = take_lock(path);
  if (!lock_file.ok()) return lock_file.take_status();
  DataDir dir(path, *lock_file);
  if (Status finished = finish_replacement(path); !finished.ok()) return finished;
  return dir;
}

DataDir::DataDir(DataDir&& other) noexcept
    : path_(std::move(other.path_)), lock_file_(std::exchange(other.lock_file_, -1)) {}

DataDir::~DataDir() {
  if (lock_file_ >= 0) ::close(lock_file_);  // Closing the file releases the lock.
}

bool DataDir::has_db() const {
  std::error_code error;
  return fs::exists(db_path(), error);
}

Status DataDir::begin_new_db() {
  std::error_code error;
  fs::remove_all(new_db_path(), error);
  return error ? from_errno(error.value(), "remove " + new_db_path()) : make_dir(new_db_path());
}

Status DataDir::publish_new_db() {
  if (::rename(new_db_path().c_str(), db_path().c_str()) != 0) {
    return from_errno(errno, "rename " + new_db_path());
  }
  return sync_dir(path_);
}

uint64_t DataDir::ballast_bytes() const {
  std::error_code error;
  const uint64_t bytes = fs::file_size(ballast_path(), error);
  return error ? 0 : bytes;
}

Status DataDir::make_ballast(uint64_t bytes) const {
  const std::string name = ballast_path();
  ::unlink(name.c_str());  // It may be another user's, who has given the directory to the group.
  const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return from_errno(errno, "make " + name);
  // A group that has access to the lock has it to the ballast: types/group_access.h.
  struct stat lock = {};
  const bool is_given = ::fstat(lock_file_, &lock) == 0 && ::fchmod(file, lock.st_mode & 0660) == 0;
  // This allocates blocks; a sparse file would reserve no space.
  const int error = is_given ? ::posix_fallocate(file, 0, static_cast<off_t>(bytes)) : errno;
  ::close(file);
  if (error == 0) return sync_dir(path_);
  ignore(remove_ballast(), "there is a failure to report already");
  return from_errno(error, "make " + name);
}

// The directory is synced, because some file systems free the space only then.
Status DataDir::remove_ballast() const {
  const std::string name = ballast_path();
  if (::unlink(name.c_str()) != 0 && errno != ENOENT) return from_errno(errno, "remove " + name);
  return sync_dir(path_);
}

Result<ReadLock> ReadLock::take(const std::string& path) {
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (!fs::status_known(there)) return from_errno(error.value(), "read " + path);
  if (!fs::exists(there)) return Status(StatusCode::NotFound, path + " is not there");
  if (!fs::is_directory(there)) return Status(StatusCode::NotFound, path + " is no directory");
  if (Status ours = classify(path, Use::Read); !ours.ok()) return ours;
  if (!fs::exists(path + "/db", error)) {
    return Status(StatusCode::Corruption,
                  path + " is not a data directory of perennial: it holds no db");
  }
  const std::string name = path + "/lock";
  const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return ReadLock(-1);
  if (file < 0) return from_errno(errno, "open " + name);
  if (::flock(file, LOCK_SH | LOCK_NB) == 0) return ReadLock(file);
  const int problem = errno;
  ::close(file);
  if (problem != EWOULDBLOCK) return from_errno(problem, "lock " + name);
  return Status(StatusCode::Locked,
                fmt::format("a server uses {}: read a checkpoint of it instead (perennial "
                            "checkpoint create), or give --server",
                            path));
}

ReadLock::~ReadLock() {
  if (file_ >= 0) ::close(file_);
}

Status sync_dir(const std::string& path) {
  const int dir = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir < 0) return from_errno(errno, "open directory " + path);
  Status synced = ::fsync(dir) == 0 ? Status() : from_errno(errno, "sync directory " + path);
  ::close(dir);
  return synced;
}

Status from_errno(int error, const std::string& doing) {
  const bool is_full = error == ENOSPC || error == EDQUOT;
  return {is_full ? StatusCode::NoSpace : StatusCode::Io,
          fmt::format("{}: {}", doing, std::error_code(error, std::generic_category()).message())};
}

}  // namespace perennial::store
