#include "cmd/perenniald/snapshot/tar_writer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "engine/types/check.h"
#include "store/disk/data_dir.h"
#include "store/disk/hash.h"

namespace perennial::perenniald {
namespace {

constexpr size_t tar_piece_bytes = 1 << 20;

la_ssize_t on_tar_bytes(archive* tar, void* context, const void* bytes, size_t count) {
  const auto& take = *static_cast<const TarWriter::Take*>(context);
  if (take(std::string(static_cast<const char*>(bytes), count))) {
    return static_cast<la_ssize_t>(count);
  }
  archive_set_error(tar, ECANCELED, "nobody takes the checkpoint any more");
  return -1;
}

// An open file.
class InputFile {
 public:
  explicit InputFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~InputFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

}  // namespace

void TarWriter::Free::operator()(archive* tar) const {
  archive_write_fail(tar);  // So that what is not finished is not written.
  archive_write_free(tar);
}

TarWriter::TarWriter(Take take)
    : take_(std::move(take)), buffer_(tar_piece_bytes), tar_(archive_write_new()) {
  CHECK(tar_ != nullptr);
  CHECK(archive_write_set_format_pax_restricted(tar_.get()) == ARCHIVE_OK);
  CHECK(archive_write_set_bytes_per_block(tar_.get(), tar_piece_bytes) == ARCHIVE_OK);
  CHECK(archive_write_set_bytes_in_last_block(tar_.get(), 1) == ARCHIVE_OK);
  CHECK(archive_write_open(tar_.get(), const_cast<Take*>(&take_), nullptr, on_tar_bytes, nullptr) ==
        ARCHIVE_OK);
}

TarWriter::~TarWriter() = default;

Status TarWriter::add(const std::string& name, std::string_view content) {
  if (Status begun = begin(name, content.size()); !begun.ok()) return begun;
  return write(name, content);
}

Result<std::string> TarWriter::add_file(const std::string& path, const std::string& name,
                                        uint64_t bytes) {
  const InputFile file(path);
  if (file.fd() < 0) return store::from_errno(errno, "open " + path);
  if (Status begun = begin(name, bytes); !begun.ok()) return begun;
  store::Hasher hasher;
  for (uint64_t left = bytes; left > 0;) {
    const ssize_t count = ::read(file.fd(), buffer_.data(), std::min(left, buffer_.size()));
    if (count < 0) return store::from_errno(errno, "read " + path);
    if (count == 0) return Status(StatusCode::Io, path + " has become shorter");
    const std::string_view piece(buffer_.data(), static_cast<size_t>(count));
    hasher.add(piece);
    if (Status written = write(name, piece); !written.ok()) return written;
    left -= piece.size();
  }
  return hasher.hex();
}

Status TarWriter::begin(const std::string& name, uint64_t bytes) {
  const std::unique_ptr<archive_entry, void (*)(archive_entry*)> entry(archive_entry_new(),
                                                                       archive_entry_free);
  CHECK(entry != nullptr);
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0600);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes));
  return archive_write_header(tar_.get(), entry.get()) == ARCHIVE_OK ? Status() : failure(name);
}

Status TarWriter::write(const std::string& name, std::string_view bytes) {
  const la_ssize_t written = archive_write_data(tar_.get(), bytes.data(), bytes.size());
  return written == static_cast<la_ssize_t>(bytes.size()) ? Status() : failure(name);
}

Status TarWriter::finish() {
  return archive_write_close(tar_.get()) == ARCHIVE_OK ? Status() : failure("its end");
}

Status TarWriter::failure(const std::string& name) const {
  const char* const text = archive_error_string(tar_.get());
  return {StatusCode::Io, fmt::format("send {}: {}", name, text == nullptr ? "" : text)};
}

}  // namespace perennial::perenniald
