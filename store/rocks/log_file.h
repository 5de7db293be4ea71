#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include <rocksdb/file_system.h>

#include "store/rocks/log_env.h"

// Included by store's own files only.
namespace perennial::store {

// A log file that lies a little ahead of the log, filled with zeros. A sync of bytes that overwrite
// others has only them to write; a sync of a file that has grown writes its size and its blocks'
// places, too, one after the other, on some file systems through a journal. Zeros are written only
// while many syncs share their cost; where there are few, or each brings much, the file just grows.
//
// What is ahead stays when the file is closed: by then a checkpoint may hold a link to it, and has
// hashed it. A log that ends in zeros is whole.
class LogFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  // How much is filled at once, and how many syncs must share that.
  static constexpr uint64_t fill_bytes = 256 << 10;
  static constexpr uint64_t syncs_per_fill_min = 8;

  // Takes over a file that is empty, the log file with this number. Tells `progress`, which
  // outlives it, of each sync.
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
  // Nothing: a file whose blocks were allocated ahead is cut to its last write when it is closed.
  void PrepareWrite(size_t /*offset*/, size_t /*bytes*/, const rocksdb::IOOptions& /*options*/,
                    rocksdb::IODebugContext* /*debug*/) override {}
  // Of the log, without what is ahead.
  uint64_t GetFileSize(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug) override;

 private:
  rocksdb::IOStatus appended(uint64_t bytes, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug);
  // Whether zeros are worth their cost, as the last stretch of so many bytes went.
  bool is_worth_filling();
  rocksdb::IOStatus fill(const rocksdb::IOOptions& options, rocksdb::IODebugContext* debug);
  // Notes how a sync ended that began when the log ended here.
  rocksdb::IOStatus synced(rocksdb::IOStatus status, uint64_t end);

  const uint64_t number_;
  LogProgress& progress_;

  uint64_t end_ = 0;     // Of the log.
  uint64_t filled_ = 0;  // Of the file; never below end_.
  bool filling_ = false;
  bool has_room_ = true;  // Until there was none, once.
  uint64_t stretch_begin_ = 0;
  uint64_t stretch_syncs_ = 0;
};

}  // namespace perennial::store
