#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <rocksdb/file_system.h>

#include "store/rocks/log_env.h"

// Included by store's own files only.
namespace perennial::store {

// A log file that is filled with zeros ahead of its last record. A sync of bytes that overwrite
// zeros writes only these bytes. A sync of a file that has grown also writes its size and the
// places of its blocks, one after the other, and on some file systems through a journal. Allocating
// the blocks with fallocate() is rejected, because the first write to such a block changes its
// state, and the sync would have to write that, too. Zeros are written only while many syncs share
// their cost. If syncs are few, or each one brings many bytes, the file grows as usual.
//
// The zeros stay when the file is closed, because a checkpoint may have linked and hashed the file
// by then. Recovery takes zeros at the end of a log for its end.
class LogFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  // How many bytes are filled at once, and how many syncs must share that cost.
  static constexpr uint64_t fill_bytes = 256 << 10;
  static constexpr uint64_t syncs_per_fill_min = 8;

  // Owns `file`, which is empty and is the log file with this number. Reports each sync to
  // `progress`, which must outlive it.
  LogFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, uint64_t number, LogProgress& progress)
      : FSWritableFileOwnerWrapper(std::move(file)), number_(number), progress_(progress) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info,
                           rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Truncate(uint64_t bytes, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* debug) override;
  // Does nothing: RocksDB truncates a file with preallocated blocks when it closes the file, and
  // that would remove the zeros.
  void PrepareWrite(size_t /*offset*/, size_t /*bytes*/, const rocksdb::IOOptions& /*options*/,
                    rocksdb::IODebugContext* /*debug*/) override {}
  // Returns the length of the log, without the zeros after it.
  uint64_t GetFileSize(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;

 private:
  rocksdb::IOStatus appended(uint64_t bytes, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug);
  // Whether zeros are worth their cost, judged by the syncs in the last fill_bytes of the log.
  bool is_worth_filling();
  rocksdb::IOStatus fill(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug);
  // Handles the end of a sync that began when the log was `end` bytes long.
  rocksdb::IOStatus synced(rocksdb::IOStatus status, uint64_t end);

  const uint64_t number_;
  LogProgress& progress_;

  uint64_t end_ = 0;     // The length of the log.
  uint64_t filled_ = 0;  // The length of the file, which is at least end_.
  bool filling_ = false;
  bool has_space_ = true;  // False once the disk had no space for zeros.
  uint64_t stretch_begin_ = 0;
  uint64_t stretch_syncs_ = 0;
};

}  // namespace perennial::store
