#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <rocksdb/file_system.h>

namespace perennial::support {

// A disk that cannot read a part of one file: each read that touches the part fails with EIO, be it
// of a table or of a log. rocksdb::NewCompositeEnv(bad_sectors).
class BadSectors : public rocksdb::FileSystemWrapper {
 public:
  explicit BadSectors(const std::shared_ptr<rocksdb::FileSystem>& base) : FileSystemWrapper(base) {}
  const char* Name() const override { return "perennial.BadSectors"; }

  // From now on these bytes of the file with this path cannot be read, and any others can.
  void set(std::string path, uint64_t offset, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    path_ = std::move(path);
    begin_ = offset;
    end_ = offset + bytes;
  }
  // How many reads have failed.
  uint64_t failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status = target()->NewRandomAccessFile(path, options, file, debug);
    if (status.ok()) *file = std::make_unique<File>(*this, path, std::move(*file));
    return status;
  }
  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status = target()->NewSequentialFile(path, options, file, debug);
    if (status.ok()) *file = std::make_unique<Sequence>(*this, path, std::move(*file));
    return status;
  }

 private:
  class File : public rocksdb::FSRandomAccessFileOwnerWrapper {
   public:
    File(BadSectors& disk, std::string path, std::unique_ptr<rocksdb::FSRandomAccessFile> file)
        : FSRandomAccessFileOwnerWrapper(std::move(file)), disk_(disk), path_(std::move(path)) {}
    rocksdb::IOStatus Read(uint64_t offset, size_t bytes, const rocksdb::IOOptions& options,
                           rocksdb::Slice* got, char* scratch,
                           rocksdb::IODebugContext* debug) const override {
      if (disk_.fails(path_, offset, bytes)) {
        return rocksdb::IOStatus::IOError(path_, "Input/output error");
      }
      return target()->Read(offset, bytes, options, got, scratch, debug);
    }

   private:
    BadSectors& disk_;  // Outlives its files.
    const std::string path_;
  };

  // A file that is read from its beginning to its end.
  class Sequence : public rocksdb::FSSequentialFileOwnerWrapper {
   public:
    Sequence(BadSectors& disk, std::string path, std::unique_ptr<rocksdb::FSSequentialFile> file)
        : FSSequentialFileOwnerWrapper(std::move(file)), disk_(disk), path_(std::move(path)) {}
    rocksdb::IOStatus Read(size_t bytes, const rocksdb::IOOptions& options, rocksdb::Slice* got,
                           char* scratch, rocksdb::IODebugContext* debug) override {
      if (disk_.fails(path_, place_, bytes)) {
        return rocksdb::IOStatus::IOError(path_, "Input/output error");
      }
      rocksdb::IOStatus status = target()->Read(bytes, options, got, scratch, debug);
      if (status.ok()) place_ += got->size();
      return status;
    }
    rocksdb::IOStatus Skip(uint64_t bytes) override {
      place_ += bytes;
      return target()->Skip(bytes);
    }

   private:
    BadSectors& disk_;  // Outlives its files.
    const std::string path_;
    uint64_t place_ = 0;
  };

  bool fails(const std::string& path, uint64_t offset, uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (path != path_ || offset >= end_ || offset + bytes <= begin_) return false;
    ++failed_;
    return true;
  }

  mutable std::mutex mutex_;  // Guards what is below: several threads read.
  std::string path_;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint64_t failed_ = 0;
};

}  // namespace perennial::support
