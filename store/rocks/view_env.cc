#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/file_system.h>

#include "store/damage/damaged_blocks.h"
#include "store/rocks/log_env.h"
#include "store/rocks/log_files.h"
#include "store/types/damage.h"

// The file system of a View: it shows a directory as it would be after a start, and changes
// nothing.
namespace perennial::store {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

// A file that seems to end after `bytes`, and to go on with `appended` there.
class ShownFile : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  ShownFile(std::unique_ptr<rocksdb::FSSequentialFile>&& file, uint64_t bytes, std::string appended)
      : FSSequentialFileOwnerWrapper(std::move(file)),
        left_(bytes),
        appended_(std::move(appended)) {}

  // Reads less than it was asked for only at the end, because RocksDB takes that for the end.
  IOStatus Read(size_t bytes, const IOOptions& options, rocksdb::Slice* got, char* scratch,
                IODebugContext* debug) override {
    size_t filled = 0;
    while (filled < bytes && left_ > 0) {
      rocksdb::Slice piece;
      IOStatus status = FSSequentialFileOwnerWrapper::Read(
          std::min<uint64_t>(bytes - filled, left_), options, &piece, scratch + filled, debug);
      if (!status.ok()) return status;
      std::memmove(scratch + filled, piece.data(), piece.size());
      filled += piece.size();
      left_ = piece.empty() ? 0 : left_ - piece.size();
    }
    const size_t more = std::min(bytes - filled, appended_.size() - appended_read_);
    std::memcpy(scratch + filled, appended_.data() + appended_read_, more);
    appended_read_ += more;
    *got = rocksdb::Slice(scratch, filled + more);
    return IOStatus::OK();
  }
  IOStatus Skip(uint64_t bytes) override {
    const uint64_t skipped = std::min(bytes, left_);
    left_ -= skipped;
    appended_read_ += std::min<uint64_t>(bytes - skipped, appended_.size() - appended_read_);
    return FSSequentialFileOwnerWrapper::Skip(skipped);
  }
  IOStatus PositionedRead(uint64_t, size_t, const IOOptions&, rocksdb::Slice*, char*,
                          IODebugContext*) override {
    return IOStatus::NotSupported("a file that is cut is read from its beginning to its end");
  }

 private:
  uint64_t left_;
  const std::string appended_;
  size_t appended_read_ = 0;
};

// A table that has a patch.
class PatchedFile : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  // The patch outlives this.
  PatchedFile(std::unique_ptr<rocksdb::FSRandomAccessFile>&& file, const View::Patch& patch)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), patch_(patch) {}

  IOStatus Read(uint64_t offset, size_t bytes, const IOOptions& options, rocksdb::Slice* got,
                char* scratch, IODebugContext* debug) const override {
    const uint64_t to_patch = patch_.offset - std::min(offset, patch_.offset);
    const size_t of_file = std::min<uint64_t>(bytes, to_patch);
    read_file(offset, of_file, options, scratch, debug);
    const uint64_t in_patch = std::max(offset, patch_.offset) - patch_.offset;
    const std::string_view rest =
        std::string_view(patch_.bytes).substr(std::min<uint64_t>(in_patch, patch_.bytes.size()));
    const size_t of_patch = std::min(bytes - of_file, rest.size());
    std::memcpy(scratch + of_file, rest.data(), of_patch);
    *got = rocksdb::Slice(scratch, of_file + of_patch);
    return IOStatus::OK();
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count, const IOOptions& options,
                     IODebugContext* debug) override {
    for (size_t i = 0; i < count; ++i) {
      rocksdb::FSReadRequest& one = requests[i];
      one.status = Read(one.offset, one.len, options, &one.result, one.scratch, debug);
    }
    return IOStatus::OK();
  }
  IOStatus ReadAsync(rocksdb::FSReadRequest& request, const IOOptions& options,
                     std::function<void(const rocksdb::FSReadRequest&, void*)> done, void* argument,
                     void** handle, rocksdb::IOHandleDeleter* deleter,
                     IODebugContext* debug) override {
    // The base's, which calls Read() of this class. NOLINTNEXTLINE(bugprone-parent-virtual-call)
    return FSRandomAccessFile::ReadAsync(request, options, std::move(done), argument, handle,
                                         deleter, debug);
  }
  IOStatus Prefetch(uint64_t, size_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::NotSupported("a patched table is read when it is needed");
  }

 private:
  void read_file(uint64_t offset, size_t bytes, const IOOptions& options, char* into,
                 IODebugContext* debug) const {
    if (read_part(offset, bytes, options, into, debug)) return;
    constexpr size_t page_bytes = 4096;
    for (size_t at = 0; at < bytes;) {
      const size_t part = std::min<size_t>(page_bytes - (offset + at) % page_bytes, bytes - at);
      if (!read_part(offset + at, part, options, into + at, debug)) std::memset(into + at, 0, part);
      at += part;
    }
  }
  // False: the disk cannot read it.
  bool read_part(uint64_t offset, size_t bytes, const IOOptions& options, char* into,
                 IODebugContext* debug) const {
    rocksdb::Slice got;
    if (!target()->Read(offset, bytes, options, &got, into, debug).ok()) return false;
    if (got.data() != into) std::memmove(into, got.data(), got.size());
    std::memset(into + got.size(), 0, bytes - got.size());
    return true;
  }

  const View::Patch& patch_;
};

class ViewFileSystem : public rocksdb::FileSystemWrapper {
 public:
  ViewFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base, View view)
      : FileSystemWrapper(base), view_(std::move(view)) {}
  const char* Name() const override { return "perennial.ViewFileSystem"; }

  IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* debug) override {
    if (is_made_current(path)) return show_current(path, options, file, debug);
    IOStatus status = target()->NewSequentialFile(path, options, file, debug);
    const auto end = view_.ends.find(name_of(path));
    const auto appended = view_.appended.find(name_of(path));
    const bool is_cut = end != view_.ends.end();
    const bool is_longer = appended != view_.appended.end();
    if (status.ok() && (is_cut || is_longer)) {
      *file = std::make_unique<ShownFile>(
          std::move(*file), is_cut ? end->second : std::numeric_limits<uint64_t>::max(),
          is_longer ? appended->second : std::string());
    }
    return status;
  }
  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                               IODebugContext* debug) override {
    IOStatus status = target()->NewRandomAccessFile(path, options, file, debug);
    const auto patch = view_.patches.find(name_of(path));
    if (status.ok() && patch != view_.patches.end()) {
      *file = std::make_unique<PatchedFile>(std::move(*file), patch->second);
    }
    const uint64_t table = view_.damaged != nullptr ? table_number_of(name_of(path)) : 0;
    if (status.ok() && table != 0) *file = view_.damaged->wrap(table, std::move(*file));
    return status;
  }
  IOStatus GetFileSize(const std::string& path, const IOOptions& options, uint64_t* bytes,
                       IODebugContext* debug) override {
    if (is_made_current(path)) {
      *bytes = view_.current.size() + 1;
      return IOStatus::OK();
    }
    IOStatus status = target()->GetFileSize(path, options, bytes, debug);
    if (status.ok()) *bytes = shown_bytes(path, *bytes);
    return status;
  }
  IOStatus FileExists(const std::string& path, const IOOptions& options,
                      IODebugContext* debug) override {
    if (is_hidden(name_of(path))) return IOStatus::NotFound(path);
    if (is_made_current(path)) return IOStatus::OK();
    return target()->FileExists(path, options, debug);
  }
  IOStatus GetChildren(const std::string& path, const IOOptions& options,
                       std::vector<std::string>* names, IODebugContext* debug) override {
    IOStatus status = target()->GetChildren(path, options, names, debug);
    std::erase_if(*names, [this](const std::string& name) { return is_hidden(name); });
    return status;
  }
  IOStatus GetChildrenFileAttributes(const std::string& path, const IOOptions& options,
                                     std::vector<rocksdb::FileAttributes>* files,
                                     IODebugContext* debug) override {
    IOStatus status = target()->GetChildrenFileAttributes(path, options, files, debug);
    std::erase_if(*files, [this](const auto& file) { return is_hidden(name_of(file.name)); });
    for (rocksdb::FileAttributes& file : *files) {
      file.size_bytes = shown_bytes(file.name, file.size_bytes);
    }
    return status;
  }

  // Every call that would change the directory is refused.
  IOStatus NewWritableFile(const std::string& path, const FileOptions&,
                           std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return refuse(path);
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions&,
                              std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return refuse(path);
  }
  IOStatus ReuseWritableFile(const std::string& path, const std::string&, const FileOptions&,
                             std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return refuse(path);
  }
  IOStatus NewRandomRWFile(const std::string& path, const FileOptions&,
                           std::unique_ptr<rocksdb::FSRandomRWFile>*, IODebugContext*) override {
    return refuse(path);
  }
  IOStatus CreateDir(const std::string& path, const IOOptions&, IODebugContext*) override {
    return refuse(path);
  }
  IOStatus CreateDirIfMissing(const std::string& path, const IOOptions&, IODebugContext*) override {
    return refuse(path);
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions&, IODebugContext*) override {
    return refuse(path);
  }
  IOStatus DeleteDir(const std::string& path, const IOOptions&, IODebugContext*) override {
    return refuse(path);
  }
  IOStatus Truncate(const std::string& path, size_t, const IOOptions&, IODebugContext*) override {
    return refuse(path);
  }
  IOStatus RenameFile(const std::string& path, const std::string&, const IOOptions&,
                      IODebugContext*) override {
    return refuse(path);
  }
  IOStatus LinkFile(const std::string& path, const std::string&, const IOOptions&,
                    IODebugContext*) override {
    return refuse(path);
  }

 private:
  static std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }
  static IOStatus refuse(const std::string& path) {
    return IOStatus::NotSupported(path, "this directory is only read");
  }
  bool is_made_current(const std::string& path) const {
    return !view_.current.empty() && name_of(path) == "CURRENT";
  }
  // Of the MANIFEST nothing is shown before the name that is appended.
  IOStatus show_current(const std::string& path, const FileOptions& options,
                        std::unique_ptr<rocksdb::FSSequentialFile>* file, IODebugContext* debug) {
    const std::string manifest = path.substr(0, path.rfind('/') + 1) + view_.current;
    IOStatus status = target()->NewSequentialFile(manifest, options, file, debug);
    if (status.ok()) {
      *file = std::make_unique<ShownFile>(std::move(*file), 0, view_.current + "\n");
    }
    return status;
  }
  bool is_hidden(const std::string& name) const {
    return view_.hidden.contains(name) || (!view_.has_logs && log_index_of(name) != 0);
  }
  uint64_t shown_bytes(const std::string& path, uint64_t bytes) const {
    const std::string name = name_of(path);
    const auto end = view_.ends.find(name);
    const auto appended = view_.appended.find(name);
    const uint64_t kept = end == view_.ends.end() ? bytes : std::min(bytes, end->second);
    return kept + (appended == view_.appended.end() ? 0 : appended->second.size());
  }

  const View view_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> make_view_env(rocksdb::Env* base, View view) {
  const std::shared_ptr<rocksdb::FileSystem>& files =
      (base != nullptr ? base : rocksdb::Env::Default())->GetFileSystem();
  return rocksdb::NewCompositeEnv(std::make_shared<ViewFileSystem>(files, std::move(view)));
}

}  // namespace perennial::store
