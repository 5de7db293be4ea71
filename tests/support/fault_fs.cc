#include "tests/support/fault_fs.h"

#include <algorithm>
#include <cerrno>
#include <random>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
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
  return kind != Call::Open && kind != Call::Read && kind != Call::FreeSpace;
}

constexpr std::array<const char*, call_kinds> call_names = {
    "create", "append", "sync",     "fsync", "range-sync", "close",
    "rename", "delete", "dir-sync", "open",  "read",       "free-space"};

std::string dir_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

std::string read_at(const std::string& path, uint64_t begin, uint64_t end) {
  if (begin >= end) return {};
  std::string bytes(end - begin, '\0');
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0);
  CHECK(::pread(file, bytes.data(), bytes.size(), static_cast<off_t>(begin)) ==
        static_cast<ssize_t>(bytes.size()));
  ::close(file);
  return bytes;
}

// One file of a FaultFs, for every class that RocksDB uses: its writes and its syncs.
class FaultFile {
 public:
  FaultFile(FaultFs& fs, std::string path, std::shared_ptr<FileState> state)
      : fs_(fs), path_(std::move(path)), state_(std::move(state)) {}

  // `write` makes the call for a prefix of the data.
  template <typename Write>
  IOStatus append(const Slice& data, const Write& write) {
    return write_whole_or_half(data, [&](const Slice& part) {
      IOStatus status = write(part);
      if (status.ok()) {
        fs_.update(*state_, [&part](FileState& file) { file.written += part.size(); });
      }
      return status;
    });
  }
  // Records what a power cut may restore.
  template <typename Write>
  IOStatus overwrite(const Slice& data, uint64_t offset, const Write& write) {
    return write_whole_or_half(data, [&](const Slice& part) {
      uint64_t synced = 0;
      fs_.update(*state_, [&synced](FileState& file) { synced = file.synced; });
      Overwrite undo{.offset = offset,
                     .before = read_at(path_, offset, std::min(offset + part.size(), synced))};
      IOStatus status = write(part);
      if (!status.ok()) return status;
      fs_.update(*state_, [&](FileState& file) {
        file.written = std::max(file.written, offset + part.size());
        if (!undo.before.empty()) file.overwrites.push_back(std::move(undo));
      });
      return status;
    });
  }
  template <typename Truncate>
  IOStatus truncate(uint64_t bytes, const Truncate& truncate) {
    return fs_.call(Call::Append, path_, bytes, [&] {
      IOStatus status = truncate();
      if (status.ok())
        fs_.update(*state_, [bytes](FileState& file) {
          file = {.written = bytes, .synced = std::min(file.synced, bytes), .overwrites = {}};
        });
      return status;
    });
  }
  template <typename Sync>
  IOStatus sync(Call kind, const Sync& do_sync) {
    fs_.run_sync_hook(path_);
    return fs_.call(kind, path_, 0, [&] {
      if (fs_.sync_is_a_lie(path_)) return IOStatus::OK();
      uint64_t reached = 0;  // Writes during the sync may not be covered by it.
      ptrdiff_t kept = 0;
      fs_.update(*state_, [&](FileState& file) {
        reached = file.written;
        kept = static_cast<ptrdiff_t>(file.overwrites.size());
      });
      IOStatus status = do_sync();
      if (status.ok()) {
        fs_.update(*state_, [reached, kept](FileState& file) {
          file.synced = reached;
          file.overwrites.erase(file.overwrites.begin(), file.overwrites.begin() + kept);
        });
      }
      return status;
    });
  }
  template <typename Function>
  IOStatus call(Call kind, uint64_t bytes, const Function& function) {
    return fs_.call(kind, path_, bytes, function);
  }

 private:
  // A write that fails partially writes the first half.
  template <typename Write>
  IOStatus write_whole_or_half(const Slice& data, const Write& write) {
    IOStatus status = fs_.call(Call::Append, path_, data.size(), [&] { return write(data); });
    const uint64_t part = status.ok() ? 0 : fs_.part_of(data.size());
    if (part > 0) CHECK(write(Slice(data.data(), part)).ok());
    return status;
  }

  FaultFs& fs_;
  const std::string path_;
  const std::shared_ptr<FileState> state_;
};

class FaultWritableFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultWritableFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, FaultFile faults)
      : FSWritableFileOwnerWrapper(std::move(file)), faults_(std::move(faults)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    return faults_.append(
        data, [&](const Slice& part) { return target()->Append(part, options, debug); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const DataVerificationInfo& /*info*/,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            IODebugContext* debug) override {
    return faults_.overwrite(data, offset, [&](const Slice& part) {
      return target()->PositionedAppend(part, offset, options, debug);
    });
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            const DataVerificationInfo& /*info*/, IODebugContext* debug) override {
    return PositionedAppend(data, offset, options, debug);
  }
  IOStatus Truncate(uint64_t bytes, const IOOptions& options, IODebugContext* debug) override {
    return faults_.truncate(bytes, [&] { return target()->Truncate(bytes, options, debug); });
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return faults_.call(Call::Close, 0, [&] { return target()->Close(options, debug); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return faults_.sync(Call::Sync, [&] { return target()->Sync(options, debug); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return faults_.sync(Call::Fsync, [&] { return target()->Fsync(options, debug); });
  }
  // Starts to write back, without any guarantee.
  IOStatus RangeSync(uint64_t offset, uint64_t bytes, const IOOptions& options,
                     IODebugContext* debug) override {
    return faults_.call(Call::RangeSync, bytes,
                        [&] { return target()->RangeSync(offset, bytes, options, debug); });
  }

 private:
  FaultFile faults_;
};

class FaultRandomRWFile : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  FaultRandomRWFile(std::unique_ptr<rocksdb::FSRandomRWFile>&& file, FaultFile faults)
      : FSRandomRWFileOwnerWrapper(std::move(file)), faults_(std::move(faults)) {}

  IOStatus Write(uint64_t offset, const Slice& data, const IOOptions& options,
                 IODebugContext* debug) override {
    return faults_.overwrite(data, offset, [&](const Slice& part) {
      return target()->Write(offset, part, options, debug);
    });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return faults_.sync(Call::Sync, [&] { return target()->Sync(options, debug); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return faults_.sync(Call::Fsync, [&] { return target()->Fsync(options, debug); });
  }
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    return faults_.call(Call::Close, 0, [&] { return target()->Close(options, debug); });
  }

 private:
  FaultFile faults_;
};

class FaultReadFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultReadFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, FaultFs& fs, std::string path)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), fs_(fs), path_(std::move(path)) {}

  IOStatus Read(uint64_t offset, size_t bytes, const IOOptions& options, Slice* result,
                char* scratch, IODebugContext* debug) const override {
    return fs_.call(Call::Read, path_, bytes, [&] {
      return FSRandomAccessFileOwnerWrapper::Read(offset, bytes, options, result, scratch, debug);
    });
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    return fs_.call(Call::Read, path_, count, [&] {
      return FSRandomAccessFileOwnerWrapper::MultiRead(requests, count, options, debug);
    });
  }

 private:
  FaultFs& fs_;
  const std::string path_;
};

class FaultSequentialFile : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  FaultSequentialFile(std::unique_ptr<rocksdb::FSSequentialFile>&& file, FaultFs& fs,
                      std::string path)
      : FSSequentialFileOwnerWrapper(std::move(file)), fs_(fs), path_(std::move(path)) {}

  IOStatus Read(size_t bytes, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* debug) override {
    return fs_.call(Call::Read, path_, bytes, [&] {
      return FSSequentialFileOwnerWrapper::Read(bytes, options, result, scratch, debug);
    });
  }

 private:
  FaultFs& fs_;
  const std::string path_;
};

class FaultDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  FaultDirectory(std::unique_ptr<rocksdb::FSDirectory>&& dir, FaultFs& fs, std::string path)
      : FSDirectoryWrapper(std::move(dir)), fs_(fs), path_(std::move(path)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return sync([&] { return FSDirectoryWrapper::Fsync(options, debug); });
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions& dir_options) override {
    return sync(
        [&] { return FSDirectoryWrapper::FsyncWithDirOptions(options, debug, dir_options); });
  }

 private:
  template <typename Sync>
  IOStatus sync(const Sync& do_sync) {
    return fs_.call(Call::DirSync, path_, 0, [&] {
      IOStatus status = do_sync();
      if (status.ok()) fs_.entries_synced(path_);
      return status;
    });
  }

  FaultFs& fs_;
  const std::string path_;
};

}  // namespace

FaultFs::FaultFs(const std::shared_ptr<rocksdb::FileSystem>& base) : FileSystemWrapper(base) {}

FaultFs::~FaultFs() {
  if (trace_file_ >= 0) ::close(trace_file_);
}

void FaultFs::fail_nth(uint64_t n, IOStatus status, std::optional<Call> only, bool writes_part) {
  const std::lock_guard lock(mutex_);
  fault_.emplace(Fault{
      .calls_left = n, .status = std::move(status), .only = only, .writes_part = writes_part});
  fired_ = false;
}

uint64_t FaultFs::part_of(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return std::exchange(part_is_due_, false) ? bytes / 2 : 0;
}

void FaultFs::lie_about_syncs(std::string suffix) {
  const std::lock_guard lock(mutex_);
  lies_about_ = std::move(suffix);
}

bool FaultFs::sync_is_a_lie(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  return lies_about_ && path.ends_with(*lies_about_);
}

void FaultFs::trace_to(const std::string& path) {
  const std::lock_guard lock(mutex_);
  trace_file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  CHECK(trace_file_ >= 0);
}

void FaultFs::trace(Call kind, const std::string& path, uint64_t bytes, const IOStatus& status) {
  const std::lock_guard lock(mutex_);
  if (trace_file_ < 0) return;
  const std::string line =
      fmt::format("{} {} {} {} {}\n", ++trace_lines_, call_names[static_cast<size_t>(kind)],
                  path.substr(path.rfind('/') + 1), bytes, status.ok() ? "ok" : status.ToString());
  CHECK(::write(trace_file_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
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

void FaultFs::forget_entries(std::string path) {
  const std::lock_guard lock(mutex_);
  graves_ = std::move(path);
}

std::string FaultFs::bury(const std::string& path) {
  if (graves_.empty()) return {};
  std::string grave = fmt::format("{}/{}", graves_, ++last_grave_);
  if (::link(path.c_str(), grave.c_str()) == 0) return grave;
  CHECK(errno == ENOENT);  // Nothing exists at `path`.
  return {};
}

void FaultFs::changed(Entry entry) {
  if (!graves_.empty()) unsynced_entries_[dir_of(entry.path)].push_back(std::move(entry));
}

void FaultFs::entries_synced(const std::string& dir) {
  const std::lock_guard lock(mutex_);
  const auto found = unsynced_entries_.find(dir);
  if (found == unsynced_entries_.end()) return;
  for (const Entry& entry : found->second) {
    if (!entry.grave.empty()) ::unlink(entry.grave.c_str());
  }
  unsynced_entries_.erase(found);
}

// An entry cannot be undone if its directory was renamed without this file system, as that of a new
// database is, and synced.
void FaultFs::undo(const Entry& entry) {
  if (entry.kind == Call::Create) ::unlink(entry.path.c_str());
  if (entry.kind == Call::Rename) ::rename(entry.path.c_str(), entry.from.c_str());
  if (!entry.grave.empty()) ::rename(entry.grave.c_str(), entry.path.c_str());
}

void FaultFs::lose_power(Loss loss, uint64_t seed) {
  const std::unique_lock power(power_);
  const std::lock_guard lock(mutex_);
  has_power_ = false;
  std::mt19937_64 random(seed);
  for (const auto& [path, file] : files_) {
    lose_overwrites(path, file->overwrites, loss, random);
    lose_bytes(path, file->synced, file->written, loss, random);
  }
  for (auto& [dir, entries] : unsynced_entries_) {
    const size_t kept = loss == Loss::Whole ? 0 : random() % (entries.size() + 1);
    while (entries.size() > kept) {
      undo(entries.back());
      entries.pop_back();
    }
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
  part_is_due_ = fault_->writes_part && kind == Call::Append;
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
  action();  // Without the lock, because the action may call this object.
}

void FaultFs::run_sync_hook(const std::string& path) {
  std::function<void(const std::string&)> hook;
  {
    const std::lock_guard lock(mutex_);
    hook = sync_hook_;
  }
  if (hook) hook(path);  // Without the lock, because the hook may wait.
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
  IOStatus status = call(Call::Open, path, 0,
                         [&] { return target()->NewSequentialFile(path, options, file, debug); });
  if (status.ok()) *file = std::make_unique<FaultSequentialFile>(std::move(*file), *this, path);
  return status;
}

IOStatus FaultFs::NewRandomAccessFile(const std::string& path, const FileOptions& options,
                                      std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                      IODebugContext* debug) {
  IOStatus status = call(Call::Open, path, 0,
                         [&] { return target()->NewRandomAccessFile(path, options, file, debug); });
  if (status.ok()) *file = std::make_unique<FaultReadFile>(std::move(*file), *this, path);
  return status;
}

IOStatus FaultFs::NewWritableFile(const std::string& path, const FileOptions& options,
                                  std::unique_ptr<rocksdb::FSWritableFile>* file,
                                  IODebugContext* debug) {
  IOStatus status = call(Call::Create, path, 0, [&] {
    const std::lock_guard lock(mutex_);
    // An existing file is truncated in place, so its directory entry does not change.
    const bool is_new = ::access(path.c_str(), F_OK) != 0;
    IOStatus made = target()->NewWritableFile(path, options, file, debug);
    if (made.ok() && is_new) changed({.kind = Call::Create, .path = path});
    return made;
  });
  if (!status.ok()) return status;
  *file =
      std::make_unique<FaultWritableFile>(std::move(*file), FaultFile(*this, path, track(path, 0)));
  return status;
}

IOStatus FaultFs::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                     std::unique_ptr<rocksdb::FSWritableFile>* file,
                                     IODebugContext* debug) {
  IOStatus status = call(Call::Create, path, 0,
                         [&] { return target()->ReopenWritableFile(path, options, file, debug); });
  if (!status.ok()) return status;
  uint64_t bytes = 0;  // The size of the file. The object's own count starts at 0 here, too.
  IOStatus sized = target()->GetFileSize(path, options.io_options, &bytes, debug);
  if (!sized.ok()) return sized;
  *file = std::make_unique<FaultWritableFile>(std::move(*file),
                                              FaultFile(*this, path, track(path, bytes)));
  return status;
}

IOStatus FaultFs::NewRandomRWFile(const std::string& path, const FileOptions& options,
                                  std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                  IODebugContext* debug) {
  IOStatus status = call(Call::Open, path, 0,
                         [&] { return target()->NewRandomRWFile(path, options, file, debug); });
  if (!status.ok()) return status;
  uint64_t bytes = 0;
  IOStatus sized = target()->GetFileSize(path, options.io_options, &bytes, debug);
  if (!sized.ok()) return sized;
  *file = std::make_unique<FaultRandomRWFile>(std::move(*file),
                                              FaultFile(*this, path, track(path, bytes)));
  return status;
}

IOStatus FaultFs::NewDirectory(const std::string& path, const IOOptions& options,
                               std::unique_ptr<rocksdb::FSDirectory>* dir, IODebugContext* debug) {
  IOStatus status =
      call(Call::Open, path, 0, [&] { return target()->NewDirectory(path, options, dir, debug); });
  if (status.ok()) *dir = std::make_unique<FaultDirectory>(std::move(*dir), *this, path);
  return status;
}

IOStatus FaultFs::DeleteFile(const std::string& path, const IOOptions& options,
                             IODebugContext* debug) {
  return call(Call::Delete, path, 0, [&] {
    const std::lock_guard lock(mutex_);
    const std::string grave = bury(path);
    IOStatus status = target()->DeleteFile(path, options, debug);
    if (!status.ok()) return status;
    files_.erase(path);
    changed({.kind = Call::Delete, .path = path, .grave = grave});
    return status;
  });
}

IOStatus FaultFs::RenameFile(const std::string& from, const std::string& to,
                             const IOOptions& options, IODebugContext* debug) {
  return call(Call::Rename, to, 0, [&] {
    const std::lock_guard lock(mutex_);
    const std::string grave = bury(to);
    IOStatus status = target()->RenameFile(from, to, options, debug);
    if (!status.ok()) return status;
    changed({.kind = Call::Rename, .path = to, .from = from, .grave = grave});
    if (!files_.contains(from)) return status;
    files_[to] = std::move(files_.at(from));
    files_.erase(from);
    return status;
  });
}

IOStatus FaultFs::LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                           IODebugContext* debug) {
  return call(Call::Create, to, 0, [&] {
    IOStatus status = target()->LinkFile(from, to, options, debug);
    const std::lock_guard lock(mutex_);
    if (!status.ok()) return status;
    changed({.kind = Call::Create, .path = to});
    if (files_.contains(from)) files_[to] = files_.at(from);
    return status;
  });
}

IOStatus FaultFs::GetFreeSpace(const std::string& path, const IOOptions& options, uint64_t* bytes,
                               IODebugContext* debug) {
  return call(Call::FreeSpace, path, 0, [&] {
    const std::lock_guard lock(mutex_);
    if (!free_bytes_) return target()->GetFreeSpace(path, options, bytes, debug);
    *bytes = *free_bytes_;
    return IOStatus::OK();
  });
}

}  // namespace perennial::support
