#include "store/file_system.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <rocksdb/file_system.h>

#include "store/log_file.h"
#include "store/log_files.h"

namespace perennial::store {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::string_view mark_prefix = "newest-log-";

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

class LogFileSystem : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "perennial.LogFileSystem"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    IOStatus status = target()->NewWritableFile(path, options, file, debug);
    const std::string_view name = name_of(path);
    if (!status.ok() || log_index_of(name) == 0) return status;
    const std::string directory(path, 0, path.size() - name.size());
    status = sync_names(directory, options.io_options, debug);
    // Only now: a mark without its log would be taken for a loss. Should a power cut take the new
    // mark, the old one is still true.
    if (status.ok()) status = move_mark(directory, log_index_of(name), options, debug);
    if (!status.ok()) {
      file->reset();
    } else {
      *file = std::make_unique<LogFile>(std::move(*file));
    }
    return status;
  }

 private:
  IOStatus sync_names(const std::string& path, const IOOptions& options, IODebugContext* debug) {
    std::unique_ptr<rocksdb::FSDirectory> directory;
    IOStatus status = target()->NewDirectory(path, options, &directory, debug);
    return status.ok() ? directory->Fsync(options, debug) : status;
  }

  IOStatus move_mark(const std::string& directory, uint64_t number, const FileOptions& options,
                     IODebugContext* debug) {
    const std::string to = directory + std::string(mark_prefix) + std::to_string(number);
    std::vector<std::string> names;
    IOStatus status = target()->GetChildren(directory, options.io_options, &names, debug);
    if (!status.ok()) return status;
    const auto old =
        std::ranges::find_if(names, [](const std::string& name) { return log_mark_of(name) != 0; });
    if (old != names.end()) {
      return target()->RenameFile(directory + *old, to, options.io_options, debug);
    }
    std::unique_ptr<rocksdb::FSWritableFile> mark;
    status = target()->NewWritableFile(to, options, &mark, debug);
    return status.ok() ? mark->Close(options.io_options, debug) : status;
  }
};

class LoglessFileSystem : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "perennial.LoglessFileSystem"; }

  IOStatus GetChildren(const std::string& path, const IOOptions& options,
                       std::vector<std::string>* names, IODebugContext* debug) override {
    IOStatus status = target()->GetChildren(path, options, names, debug);
    std::erase_if(*names, [](const std::string& name) { return log_index_of(name) != 0; });
    return status;
  }
};

const std::shared_ptr<rocksdb::FileSystem>& files_of(rocksdb::Env* base) {
  return (base != nullptr ? base : rocksdb::Env::Default())->GetFileSystem();
}

}  // namespace

uint64_t log_mark_of(std::string_view name) {
  if (!name.starts_with(mark_prefix)) return 0;
  return log_index_of(std::string(name.substr(mark_prefix.size())) + ".log");
}

std::unique_ptr<rocksdb::Env> make_log_env(rocksdb::Env* base) {
  return rocksdb::NewCompositeEnv(std::make_shared<LogFileSystem>(files_of(base)));
}

std::unique_ptr<rocksdb::Env> make_logless_env(rocksdb::Env* base) {
  return rocksdb::NewCompositeEnv(std::make_shared<LoglessFileSystem>(files_of(base)));
}

}  // namespace perennial::store
