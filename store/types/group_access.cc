#include "store/types/group_access.h"

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perennial::store {
namespace {

namespace fs = std::filesystem;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr mode_t permissions = 0777;

mode_t mode_of(GroupAccess access, bool is_dir) {
  switch (access) {
    case GroupAccess::Read:
      return is_dir ? 0750 : 0640;
    case GroupAccess::Write:
      return is_dir ? 0770 : 0660;
    case GroupAccess::None:
      break;
  }
  return is_dir ? 0700 : 0600;
}

// Returns an errno; 0: the file has the mode now, or belongs to another user, or is gone.
int give_mode(const std::string& path, GroupAccess access) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) return errno == ENOENT ? 0 : errno;
  const bool is_dir = S_ISDIR(info.st_mode);
  if ((!is_dir && !S_ISREG(info.st_mode)) || info.st_uid != ::geteuid()) return 0;
  const mode_t wanted = mode_of(access, is_dir);
  if ((info.st_mode & permissions) == wanted) return 0;
  // The set-group-ID bit stays: by it new files in the directory get its group.
  const mode_t others = info.st_mode & ~(S_IFMT | permissions);
  return ::chmod(path.c_str(), others | wanted) == 0 ? 0 : errno;
}

class GroupFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  explicit GroupFileSystem(GroupAccess access)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), access_(access) {}
  static constexpr const char* name = "perennial.GroupFileSystem";
  const char* Name() const override { return name; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    return made(target()->NewWritableFile(path, options, file, debug), path);
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                              IODebugContext* debug) override {
    return made(target()->ReopenWritableFile(path, options, file, debug), path);
  }
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old,
                             const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* file,
                             IODebugContext* debug) override {
    return made(target()->ReuseWritableFile(path, old, options, file, debug), path);
  }
  IOStatus NewRandomRWFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                           IODebugContext* debug) override {
    return made(target()->NewRandomRWFile(path, options, file, debug), path);
  }
  IOStatus CreateDir(const std::string& path, const IOOptions& options,
                     IODebugContext* debug) override {
    return made(target()->CreateDir(path, options, debug), path);
  }
  IOStatus CreateDirIfMissing(const std::string& path, const IOOptions& options,
                              IODebugContext* debug) override {
    return made(target()->CreateDirIfMissing(path, options, debug), path);
  }
  IOStatus LockFile(const std::string& path, const IOOptions& options, rocksdb::FileLock** lock,
                    IODebugContext* debug) override {
    return made(target()->LockFile(path, options, lock, debug), path);
  }

 private:
  IOStatus made(IOStatus status, const std::string& path) const {
    if (!status.ok()) return status;
    const int error = give_mode(path, access_);
    if (error == 0) return status;
    return IOStatus::IOError("set the mode of " + path, std::generic_category().message(error));
  }

  const GroupAccess access_;
};

Status failed_to(const std::string& doing, int error) {
  return {StatusCode::Io, doing + ": " + std::error_code(error, std::generic_category()).message()};
}

}  // namespace

// The environments live as long as the process: stores keep pointers to them.
rocksdb::Env* group_env(GroupAccess access) {
  static const auto make = [](GroupAccess of) {
    return rocksdb::NewCompositeEnv(std::make_shared<GroupFileSystem>(of)).release();
  };
  switch (access) {
    case GroupAccess::Read: {
      static rocksdb::Env* const env = make(access);
      return env;
    }
    case GroupAccess::Write: {
      static rocksdb::Env* const env = make(access);
      return env;
    }
    case GroupAccess::None:
      break;
  }
  return nullptr;
}

bool is_of_machine(rocksdb::Env* env) {
  if (env == nullptr) return true;
  const std::string_view name = env->GetFileSystem()->Name();
  return name == GroupFileSystem::name || name == unsynced_file_system_name;
}

Status give_group_access(const std::string& dir, GroupAccess access) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(dir, error), end; !error && entry != end;
       entry.increment(error)) {
    if (const int failed = give_mode(entry->path(), access); failed != 0) {
      return failed_to("set the mode of " + entry->path().string(), failed);
    }
  }
  if (error) return failed_to("read directory " + dir, error.value());
  const int failed = give_mode(dir, access);
  return failed == 0 ? Status() : failed_to("set the mode of " + dir, failed);
}

}  // namespace perennial::store
