#include "tests/support/fault_fs.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::support {
namespace {

using rocksdb::DataVerificationInfo;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

bool is_write(Call kind) {
  return kind != Call::Open && kind != Call::Read;
}

class FaultWritableFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultWritableFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, FaultFs& fs, std::string path,
                    std::shared_ptr<FileState> state)
      : FSWritableFileOwnerWrapper(std::move(file)),
        fs_(fs),
        path_(std::move(path)),
        state_(std::move(state)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return append(data, [&] { return target()->Append(data, options, debug); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const DataVerificationInfo& info,
                  IODebugContext* debug) override {
    return append(data, [&] { return target()->Append(data, options, info, debug); });
  }
  IOStatus PositionedAppend(const Slice&, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::NotSupported("direct writes are not tracked");
  }
  IOStatus PositionedAppend(const Slice&, uint64_t, const IOOptions&, const DataVerificationInfo&,
                            IODebugContext*) override {
    return IOStatus::NotSupported("direct writes are not tracked");
  }
  IOStatus Truncate(uint64_t bytes, const IOOptions& options, IODebugContext* debug) override {
    return fs_.call(Call::Append, [&] {
      IOStatus status = target()->Truncate(bytes, options, debug);
      if (status.ok())
        fs_.update(*state_, [bytes](FileState& file) {
          file = {.written = bytes, .synced = std::min(file.synced, bytes)};
        });
      return status;
    });
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return fs_.call(Call::Close, [&] { return target()->Close(options, debug); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return sync([&] { return target()->Sync(options, debug); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return sync([&] { return target()->Fsync(options, debug); });
  }
  // RangeSync, which the wrapper passes on, starts writing back and promises nothing.

 private:
  template <typename Write>
  IOStatus append(const Slice& data, const Write& write) {
    return fs_.call(Call::Append, [&] {
      IOStatus status = write();
      if (status.ok()) {
        fs_.update(*state_, [&data](FileState& file) { file.written += data.size(); });
      }
      return status;
    });
  }
  template <typename Sync>
  IOStatus sync(const Sync& do_sync) {
    fs_.run_sync_hook(path_);
    return fs_.call(Call::Sync, [&] {
      uint64_t reached = 0;  // What is appended during the sync may not be part of it.
      fs_.update(*state_, [&reached](FileState& file) { reached = file.written; });
      IOStatus status = do_sync();
      if (status.ok()) fs_.update(*state_, [reached](FileState& file) { file.synced = reached; });
      return status;
    });
  }

  FaultFs& fs_;
  const std::string path_;
  const std::shared_ptr<FileState> state_;
};

class FaultReadFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultReadFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, FaultFs& fs)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), fs_(fs) {}

  IOStatus Read(uint64_t offset, size_t bytes, const IOOptions& options, Slice* result,
                char* scratch, IODebugContext* debug) const override {
    return fs_.call(Call::Read, [&] {
      return FSRandomAccessFileOwnerWrapper::Read(offset, bytes, options, result, scratch, debug);
    });
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    return fs_.call(Call::Read, [&] {
      return FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, debug);
    });
  }

 private:
  FaultFs& fs_;
};

class FaultDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  FaultDirectory(std::unique_ptr<rocksdb::FSDirectory>&& dir, FaultFs& fs)
      : FSDirectoryWrapper(std::move(dir)), fs_(fs) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return fs_.call(Call::DirSync, [&] { return FSDirectoryWrapper::Fsync(options, debug); });
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& dir_options) override {
    return fs_.call(Call::DirSync, [&] {
      return FSDirectoryWrapper::FsyncWithDirOptions(options, debug, dir_options);
    });
  }

 private:
  FaultFs& fs_;
};

}  // namespace

FaultFs::FaultFs(const std::shared_ptr<rocksdb::FileSystem>& base) : FileSystemWrapper(base) {}

void FaultFs::fail_nth(uint64_t n, IOStatus status, std::optional<Call> only) {
  const std::lock_guard lock(mutex_);
  fault_.emplace(Fault{.calls_left = n, .status = std::move(status), .only = only});
  fired_ = false;
}

bool FaultFs::fired() const {
  const std::lock_guard lock(mutex_);
  return fired_;
}

void FaultFs::fail_all(Call kind, IOStatus status) {
  const std::lock_guard lock(mutex_);
  failing_[static_cast<size_t>(kind)] = std::move(status);
}

uint64_t FaultFs::count(Call kind) const {
  const std::lock_guard lock(mutex_);
  return counts_[static_cast<size_t>(kind)];
}

void FaultFs::set_sync_hook(std::function<void(const std::string& path)> hook) {
  const std::lock_guard lock(mutex_);
  sync_hook_ = std::move(hook);
}

void FaultFs::set_free_bytes(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  free_bytes_ = bytes;
}

void FaultFs::lose_power() {
  const std::unique_lock power(power_);
  const std::lock_guard lock(mutex_);
  has_power_ = false;
  for (const auto& [path, file] : files_) {
    if (file->written == file->synced) continue;
    const int cut = ::truncate(path.c_str(), static_cast<off_t>(file->synced));
    // A whole directory may have been renamed past us, as a new database is.
    CHECK(cut == 0 || errno == ENOENT);
  }
}

IOStatus FaultFs::enter(Call kind) {
  const std::lock_guard lock(mutex_);
  if (!has_power_) return IOStatus::IOError("no power");
  ++counts_[static_cast<size_t>(kind)];
  if (const auto& failing = failing_[static_cast<size_t>(kind)]) return *failing;
  if (!fault_) return IOStatus::OK();
  if (fault_->only ? *fault_->only != kind : !is_write(kind)) return IOStatus::OK();
  if (fault_->calls_left-- > 0) return IOStatus::OK();
  fired_ = true;
  return std::exchange(fault_, std::nullopt)->status;
}

void FaultFs::before_nth(uint64_t n, std::function<void()> action) {
  const std::lock_guard lock(mutex_);
  action_calls_left_ = n;
  action_ = std::move(action);
}

void FaultFs::run_action(Call kind) {
  std::function<void()> action;
  {
    const std::lock_guard lock(mutex_);
    if (!action_ || !is_write(kind) || action_calls_left_-- > 0) return;
    action = std::exchange(action_, nullptr);
  }
  action();  // Without the lock, because it may call us.
}

void FaultFs::run_sync_hook(const std::string& path) {
  std::function<void(const std::string&)> hook;
  {
    const std::lock_guard lock(mutex_);
    hook = sync_hook_;
  }
  if (hook) hook(path);  // Without the lock, because it may wait.
}

void FaultFs::update(FileState& file, const std::function<void(FileState&)>& change) {
  const std::lock_guard lock(mutex_);
  change(file);
}

std::shared_ptr<FileState> FaultFs::track(const std::string& path, uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto state = std::make_shared<FileState>(FileState{.written = bytes, .synced = bytes});
  files_[path] = state;
  return state;
}

IOStatus FaultFs::NewSequentialFile(const std::string& path, const FileOptions& options,
                                    std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                    IODebugContext* debug) {
  return call(Call::Open, [&] { return target()->NewSequentialFile(path, options, file, debug); });
}

IOStatus FaultFs::NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                      std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                      IODebugContext* debug) {
  IOStatus status =
      call(Call::Open, [&] { return target()->NewRandomAccessFile(path, options, file, debug); });
  if (status.ok()) *file = std::make_unique<FaultReadFile>(std::move(*file), *this);
  return status;
}

IOStatus FaultFs::NewWritableFile(const std::string& path, const FileOptions& options,
                                  std::unique_ptr<rocksdb::FSWritableFile>* file,
                                  IODebugContext* debug) {
  IOStatus status =
      call(Call::Create, [&] { return target()->NewWritableFile(path, options, file, debug); });
  if (!status.ok()) return status;
  *file = std::make_unique<FaultWritableFile>(std::move(*file), *this, path, track(path, 0));
  return status;
}

IOStatus FaultFs::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                     std::unique_ptr<rocksdb::FSWritableFile>* file,
                                     IODebugContext* debug) {
  IOStatus status =
      call(Call::Create, [&] { return target()->ReopenWritableFile(path, options, file, debug); });
  if (!status.ok()) return status;
  uint64_t bytes = 0;  // Of the file itself: the object's own count starts at 0 here, too.
  IOStatus sized = target()->GetFileSize(path, options.io_options, &bytes, debug);
  if (!sized.ok()) return sized;
  *file = std::make_unique<FaultWritableFile>(std::move(*file), *this, path, track(path, bytes));
  return status;
}

IOStatus FaultFs::NewDirectory(const std::string& path, const IOOptions& options,
                               std::unique_ptr<rocksdb::FSDirectory>* dir, IODebugContext* debug) {
  IOStatus status =
      call(Call::Open, [&] { return target()->NewDirectory(path, options, dir, debug); });
  if (status.ok()) *dir = std::make_unique<FaultDirectory>(std::move(*dir), *this);
  return status;
}

IOStatus FaultFs::DeleteFile(const std::string& path, const IOOptions& options,
                             IODebugContext* debug) {
  return call(Call::Delete, [&] {
    IOStatus status = target()->DeleteFile(path, options, debug);
    const std::lock_guard lock(mutex_);
    if (status.ok()) files_.erase(path);
    return status;
  });
}

IOStatus FaultFs::RenameFile(const std::string& from, const std::string& to,
                             const IOOptions& options, IODebugContext* debug) {
  return call(Call::Rename, [&] {
    IOStatus status = target()->RenameFile(from, to, options, debug);
    const std::lock_guard lock(mutex_);
    if (!status.ok() || !files_.contains(from)) return status;
    files_[to] = std::move(files_.at(from));
    files_.erase(from);
    return status;
  });
}

IOStatus FaultFs::LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                           IODebugContext* debug) {
  return call(Call::Create, [&] {
    IOStatus status = target()->LinkFile(from, to, options, debug);
    const std::lock_guard lock(mutex_);
    if (status.ok() && files_.contains(from)) files_[to] = files_.at(from);
    return status;
  });
}

IOStatus FaultFs::GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* bytes,
                               IODebugContext* debug) {
  {
    const std::lock_guard lock(mutex_);
    if (free_bytes_) {
      *bytes = *free_bytes_;
      return IOStatus::OK();
    }
  }
  return target()->GetFreeSpace(path, options, bytes, debug);
}

}  // namespace perennial::support
