#include "store/space/compaction_guard.h"

#include <utility>

#include "store/space/disk_space.h"

namespace perennial::store {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class WatchedTable : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedTable(std::unique_ptr<rocksdb::FSWritableFile>&& table, bool is_output,
               CompactionGuard& guard)
      : FSWritableFileOwnerWrapper(std::move(table)), is_output_(is_output), guard_(guard) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    IOStatus space = check_space(data.size());
    return space.ok() ? counted(target()->Append(data, options, debug)) : space;
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& info, IODebugContext* debug) override {
    IOStatus space = check_space(data.size());
    return space.ok() ? counted(target()->Append(data, options, info, debug)) : space;
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    return counted(target()->Sync(options, debug));
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return counted(target()->Fsync(options, debug));
  }

 private:
  IOStatus counted(IOStatus status) {
    guard_.on_table_call();
    return status;
  }

  // Checks the free space before each mebibyte but the first. A check at each append would be a
  // system call for every block.
  IOStatus check_space(uint64_t bytes) {
    if (!is_output_) return IOStatus::OK();
    unchecked_bytes_ += bytes;
    if (unchecked_bytes_ <= small_compaction_bytes) return IOStatus::OK();
    unchecked_bytes_ = bytes;  // This append belongs to the next mebibyte.
    if (guard_.has_space_for(bytes)) return IOStatus::OK();
    return IOStatus::NoSpace(too_little_space);
  }

  const bool is_output_;  // Whether a compaction writes this table.
  CompactionGuard& guard_;
  uint64_t unchecked_bytes_ = 0;  // Written since the last check.
};

}  // namespace

uint64_t CompactionGuard::reserve_bytes() const {
  return compactions_leave_bytes(options_, log_bytes());
}

// A compaction goes on if the free space cannot be read: DiskSpace reports that error.
bool CompactionGuard::has_space_for(uint64_t bytes) const {
  const Result<Space> free = free_space_of(options_.data_dir, options_);
  if (!free.ok()) return true;
  return free->bytes >= reserve_bytes() + bytes && free->files >= options_.open_files_min;
}

void CompactionGuard::on_log_begun(uint64_t number) {
  const std::lock_guard lock(mutex_);
  logs_[number] = written_bytes_;
}

void CompactionGuard::on_log_removed(uint64_t number) {
  const std::lock_guard lock(mutex_);
  logs_.erase(number);
}

// Only the thread that writes adds to the log, so the bytes written since the oldest log file was
// begun are those of all log files.
uint64_t CompactionGuard::log_bytes() const {
  const std::lock_guard lock(mutex_);
  return logs_.empty() ? 0 : written_bytes_ - logs_.begin()->second;
}

void CompactionGuard::on_output(const std::string& path) {
  const std::lock_guard lock(mutex_);
  outputs_.insert(path);
}

bool CompactionGuard::takes_output(const std::string& path) {
  const std::lock_guard lock(mutex_);
  return outputs_.erase(path) > 0;
}

bool is_stopped_compaction(const rocksdb::Status& status) {
  return status.IsNoSpace() && status.ToString().find(too_little_space) != std::string::npos;
}

std::unique_ptr<rocksdb::FSWritableFile> CompactionGuard::watch(
    std::unique_ptr<rocksdb::FSWritableFile>&& table, const std::string& path) {
  return std::make_unique<WatchedTable>(std::move(table), takes_output(path), *this);
}

}  // namespace perennial::store
