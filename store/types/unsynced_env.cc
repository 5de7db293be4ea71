#include "store/types/unsynced_env.h"

#include <memory>
#include <string>
#include <utility>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "store/types/group_access.h"

namespace perennial::store {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class UnsyncedFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  explicit UnsyncedFile(std::unique_ptr<rocksdb::FSWritableFile>&& file)
      : FSWritableFileOwnerWrapper(std::move(file)) {}
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus RangeSync(uint64_t /*offset*/, uint64_t /*bytes*/, const IOOptions& /*options*/,
                     IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
};

class UnsyncedRandomFile final : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  explicit UnsyncedRandomFile(std::unique_ptr<rocksdb::FSRandomRWFile>&& file)
      : FSRandomRWFileOwnerWrapper(std::move(file)) {}
  IOStatus Sync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
};

class UnsyncedDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  explicit UnsyncedDirectory(std::unique_ptr<rocksdb::FSDirectory>&& directory)
      : FSDirectoryWrapper(std::move(directory)) {}
  IOStatus Fsync(const IOOptions& /*options*/, IODebugContext* /*debug*/) override {
    return IOStatus::OK();
  }
  IOStatus FsyncWithDirOptions(const IOOptions& /*options*/, IODebugContext* /*debug*/,
                               const rocksdb::DirFsyncOptions& /*names*/) override {
    return IOStatus::OK();
  }
};

template <typename Wrapper, typename File>
IOStatus wrapped(IOStatus status, std::unique_ptr<File>* file) {
  if (status.ok()) *file = std::make_unique<Wrapper>(std::move(*file));
  return status;
}

class UnsyncedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  UnsyncedFileSystem() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return unsynced_file_system_name; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    return wrapped<UnsyncedFile>(target()->NewWritableFile(path, options, file, debug), file);
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                              IODebugContext* debug) override {
    return wrapped<UnsyncedFile>(target()->ReopenWritableFile(path, options, file, debug), file);
  }
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old,
                             const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* file,
                             IODebugContext* debug) override {
    return wrapped<UnsyncedFile>(target()->ReuseWritableFile(path, old, options, file, debug),
                                 file);
  }
  IOStatus NewRandomRWFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                           IODebugContext* debug) override {
    return wrapped<UnsyncedRandomFile>(target()->NewRandomRWFile(path, options, file, debug), file);
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory,
                        IODebugContext* debug) override {
    return wrapped<UnsyncedDirectory>(target()->NewDirectory(path, options, directory, debug),
                                      directory);
  }
};

}  // namespace

rocksdb::Env* unsynced_env() {
  static rocksdb::Env* const env =
      rocksdb::NewCompositeEnv(std::make_shared<UnsyncedFileSystem>()).release();
  return env;
}

}  // namespace perennial::store
