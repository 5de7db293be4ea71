#include "store/rocks/log_file.h"

#include <algorithm>
#include <string>

#include "store/types/rocks_status.h"

namespace perennial::store {

using rocksdb::DataVerificationInfo;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus LogFile::Append(const Slice& data, const IOOptions& options, IODebugContext* debug) {
  IOStatus status = target()->PositionedAppend(data, end_, options, debug);
  return status.ok() ? appended(data.size(), options, debug) : status;
}

IOStatus LogFile::Append(const Slice& data, const IOOptions& options,
                         const DataVerificationInfo& info, IODebugContext* debug) {
  IOStatus status = target()->PositionedAppend(data, end_, options, info, debug);
  return status.ok() ? appended(data.size(), options, debug) : status;
}

IOStatus LogFile::appended(uint64_t bytes, const IOOptions& options, IODebugContext* debug) {
  end_ += bytes;
  if (end_ < filled_) return IOStatus::OK();
  filled_ = end_;
  return is_worth_filling() ? fill(options, debug) : IOStatus::OK();
}

bool LogFile::is_worth_filling() {
  const uint64_t bytes = end_ - stretch_begin_;
  if (bytes < fill_bytes) {
    filling_ = filling_ || stretch_syncs_ >= syncs_per_fill_min;
  } else {
    filling_ = stretch_syncs_ * (fill_bytes / syncs_per_fill_min) >= bytes;
    stretch_begin_ = end_;
    stretch_syncs_ = 0;
  }
  return filling_ && has_space_;
}

// A disk that has no space for the zeros may still have some for the log. A full disk therefore
// ends the filling and is no error here.
IOStatus LogFile::fill(const IOOptions& options, IODebugContext* debug) {
  static const std::string zeros(fill_bytes, '\0');
  IOStatus status = target()->PositionedAppend(zeros, end_, options, debug);
  if (status.ok()) {
    filled_ = end_ + fill_bytes;
    return status;
  }
  if (!is_full(status)) return status;
  has_space_ = false;
  return target()->Truncate(end_, options, debug);
}

IOStatus LogFile::Truncate(uint64_t bytes, const IOOptions& options, IODebugContext* debug) {
  IOStatus status = target()->Truncate(bytes, options, debug);
  if (status.ok()) end_ = filled_ = stretch_begin_ = bytes;
  return status;
}

IOStatus LogFile::Sync(const IOOptions& options, IODebugContext* debug) {
  const uint64_t end = end_;
  return synced(target()->Sync(options, debug), end);
}

IOStatus LogFile::Fsync(const IOOptions& options, IODebugContext* debug) {
  const uint64_t end = end_;
  return synced(target()->Fsync(options, debug), end);
}

IOStatus LogFile::synced(IOStatus status, uint64_t end) {
  ++stretch_syncs_;
  if (status.ok()) progress_.synced({.number = number_, .bytes = end});
  return status;
}

uint64_t LogFile::GetFileSize(const IOOptions& /*options*/, IODebugContext* /*debug*/) {
  return end_;
}

}  // namespace perennial::store
