#include "store/rocks/log_env.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <rocksdb/file_system.h>

#include "store/damage/damaged_blocks.h"
#include "store/rocks/log_file.h"
#include "store/rocks/log_files.h"
#include "store/space/compaction_guard.h"
#include "store/types/damage.h"
#include "store/types/rocks_status.h"

namespace perennial::store {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

constexpr std::string_view mark_prefix = "newest-log-";

// Finds the name of the mark; it is empty if there is none.
IOStatus find_mark(rocksdb::FileSystem& fs, const std::string& db_path, std::string& mark) {
  std::vector<std::string> names;
  IOStatus status = fs.GetChildren(db_path, {}, &names, nullptr);
  const auto is_mark = [](const std::string& name) { return log_mark_of(name) != 0; };
  const auto found = std::ranges::find_if(names, is_mark);
  mark = found == names.end() ? "" : *found;
  return status;
}

std::string mark_path(const std::string& db_path, uint64_t number) {
  return fmt::format("{}/{}{}", db_path, mark_prefix, number);
}

IOStatus sync_names(rocksdb::FileSystem& fs, const std::string& path, const IOOptions& options,
                    IODebugContext* debug) {
  std::unique_ptr<rocksdb::FSDirectory> directory;
  IOStatus status = fs.NewDirectory(path, options, &directory, debug);
  return status.ok() ? directory->Fsync(options, debug) : status;
}

IOStatus set_mark(rocksdb::FileSystem& fs, const std::string& db_path, uint64_t number) {
  std::string old;
  IOStatus status = find_mark(fs, db_path, old);
  if (!status.ok()) return status;
  if (!old.empty()) return move_log_mark(fs, db_path, number);
  std::unique_ptr<rocksdb::FSWritableFile> mark;
  status = fs.NewWritableFile(mark_path(db_path, number), {}, &mark, nullptr);
  return status.ok() ? mark->Close({}, nullptr) : status;
}

class LogFileSystem : public rocksdb::FileSystemWrapper {
 public:
  LogFileSystem(const std::shared_ptr<rocksdb::FileSystem>& base, const std::string& db_path,
                LogProgress& progress, std::shared_ptr<CompactionGuard> guard,
                DamagedBlocks* damaged)
      : FileSystemWrapper(base),
        directory_(db_path + "/"),
        progress_(progress),
        guard_(std::move(guard)),
        damaged_(damaged) {}
  const char* Name() const override { return "perennial.LogFileSystem"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    IOStatus status = target()->NewWritableFile(path, options, file, debug);
    if (!status.ok()) return status;
    const uint64_t number = log_number(path);
    if (number != 0) return begin_log(number, options, *file, debug);
    if (guard_ != nullptr && path.ends_with(".sst")) {
      *file = guard_->watch(std::move(*file), path);
    }
    return status;
  }

  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                               IODebugContext* debug) override {
    IOStatus status = target()->NewRandomAccessFile(path, options, file, debug);
    const uint64_t table = damaged_ != nullptr ? table_number(path) : 0;
    if (status.ok() && table != 0) *file = damaged_->wrap(table, std::move(*file));
    return status;
  }

  // RocksDB makes a MANIFEST and names it in CURRENT, and syncs the directory only then. Of the two
  // names a power cut may lose the first alone.
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    if (name_here(to) == "CURRENT") {
      IOStatus status = sync_names(*target(), directory_path(), options, debug);
      if (!status.ok()) return status;
    }
    return target()->RenameFile(from, to, options, debug);
  }

  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* debug) override {
    IOStatus status = target()->DeleteFile(path, options, debug);
    const uint64_t number = log_number(path);
    if (status.ok() && number != 0 && guard_ != nullptr) guard_->on_log_removed(number);
    if (status.ok() && damaged_ != nullptr) damaged_->forget(table_number(path));
    return status;
  }

 private:
  // Returns the number of one of the database's log files, and 0 for any other file. RocksDB copies
  // the newest log into a checkpoint through this file system, with the zeros that lie ahead. That
  // copy says nothing of how far the log itself was synced.
  uint64_t log_number(std::string_view path) const { return log_index_of(name_here(path)); }
  // The same for a table.
  uint64_t table_number(std::string_view path) const { return table_number_of(name_here(path)); }
  std::string directory_path() const { return directory_.substr(0, directory_.size() - 1); }
  // Empty: the file is in another directory.
  std::string_view name_here(std::string_view path) const {
    if (!path.starts_with(directory_)) return {};
    const std::string_view name = path.substr(directory_.size());
    return name.find('/') == std::string_view::npos ? name : std::string_view();
  }

  IOStatus begin_log(uint64_t number, const FileOptions& options,
                     std::unique_ptr<rocksdb::FSWritableFile>& file, IODebugContext* debug) {
    const std::string directory = directory_path();
    IOStatus status = sync_names(*target(), directory, options.io_options, debug);
    // The mark is set after the directory was synced, because a start takes a mark without its log
    // for a loss. If a power cut loses the new mark, the old one is still correct.
    if (status.ok()) status = set_mark(*target(), directory, number);
    if (!status.ok()) {
      file.reset();
      return status;
    }
    if (guard_ != nullptr) guard_->on_log_begun(number);
    file = std::make_unique<LogFile>(std::move(file), number, progress_);
    return status;
  }

  const std::string directory_;  // Of the database, with a slash at the end.
  LogProgress& progress_;
  const std::shared_ptr<CompactionGuard> guard_;
  DamagedBlocks* const damaged_;
};

const std::shared_ptr<rocksdb::FileSystem>& files_of(rocksdb::Env* base) {
  return (base != nullptr ? base : rocksdb::Env::Default())->GetFileSystem();
}

}  // namespace

uint64_t log_mark_of(std::string_view name) {
  if (!name.starts_with(mark_prefix)) return 0;
  return log_index_of(std::string(name.substr(mark_prefix.size())) + ".log");
}

Result<uint64_t> find_newest_log(rocksdb::FileSystem& fs, const std::string& db_path) {
  std::string mark;
  const IOStatus status = find_mark(fs, db_path, mark);
  if (!status.ok()) return from_rocksdb(status);
  return log_mark_of(mark);
}

Status remove_log_mark(rocksdb::FileSystem& fs, const std::string& db_path) {
  std::string mark;
  IOStatus status = find_mark(fs, db_path, mark);
  if (!status.ok() || mark.empty()) return from_rocksdb(status);
  status = fs.DeleteFile(db_path + "/" + mark, {}, nullptr);
  if (status.ok()) status = sync_names(fs, db_path, {}, nullptr);
  return from_rocksdb(status);
}

IOStatus move_log_mark(rocksdb::FileSystem& fs, const std::string& db_path, uint64_t number) {
  std::string old;
  IOStatus status = find_mark(fs, db_path, old);
  if (!status.ok() || old.empty() || log_mark_of(old) == number) return status;
  return fs.RenameFile(db_path + "/" + old, mark_path(db_path, number), {}, nullptr);
}

std::unique_ptr<rocksdb::Env> make_log_env(rocksdb::Env* base, const std::string& db_path,
                                           LogProgress& progress,
                                           std::shared_ptr<CompactionGuard> guard,
                                           DamagedBlocks* damaged) {
  return rocksdb::NewCompositeEnv(std::make_shared<LogFileSystem>(files_of(base), db_path, progress,
                                                                  std::move(guard), damaged));
}

}  // namespace perennial::store
