#include "cmd/perenniald/snapshot/copied_files.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "store/disk/data_dir.h"

namespace perennial::perenniald {
namespace {

// The disk gets this much at once.
constexpr uint64_t writeback_bytes = 8 << 20;

}  // namespace

Status CopiedFiles::begin(const std::string& path) {
  if (files_.size() == open_max) {
    if (Status synced = files_.front().sync(); !synced.ok()) return synced;
    files_.pop_front();
  }
  return files_.emplace_back(path).opened();
}

Status CopiedFiles::write(std::string_view bytes) {
  CHECK(!files_.empty());
  return files_.back().write(bytes);
}

std::string CopiedFiles::finish() {
  CHECK(!files_.empty());
  return files_.back().finish();
}

Status CopiedFiles::sync(const std::function<bool()>& cancelled) {
  while (!files_.empty()) {
    if (cancelled && cancelled()) return {StatusCode::Io, "asked to stop"};
    if (Status synced = files_.front().sync(); !synced.ok()) return synced;
    files_.pop_front();
  }
  return {};
}

CopiedFiles::File::File(const std::string& path)
    : path_(path),
      fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)),
      open_error_(fd_ < 0 ? errno : 0) {}

CopiedFiles::File::~File() {
  if (fd_ >= 0) ::close(fd_);
}

Status CopiedFiles::File::opened() const {
  return fd_ >= 0 ? Status() : store::from_errno(open_error_, "make " + path_);
}

Status CopiedFiles::File::write(std::string_view bytes) {
  hasher_.add(bytes);
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return store::from_errno(errno, "write " + path_);
    bytes.remove_prefix(static_cast<size_t>(written));
    bytes_ += static_cast<uint64_t>(written);
  }
  begin_writeback(writeback_bytes);
  return {};
}

std::string CopiedFiles::File::finish() {
  begin_writeback(1);
  return hasher_.hex();
}

Status CopiedFiles::File::sync() {
  return ::fsync(fd_) == 0 ? Status() : store::from_errno(errno, "sync " + path_);
}

// A hint, so its failure does no harm: sync() is what counts.
void CopiedFiles::File::begin_writeback(uint64_t bytes_min) {
  if (bytes_ - bytes_at_disk_ < bytes_min) return;
  static_cast<void>(::sync_file_range(fd_, static_cast<off_t>(bytes_at_disk_),
                                      static_cast<off_t>(bytes_ - bytes_at_disk_),
                                      SYNC_FILE_RANGE_WRITE));
  bytes_at_disk_ = bytes_;
}

}  // namespace perennial::perenniald
