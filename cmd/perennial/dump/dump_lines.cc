#include "cmd/perennial/dump/dump_lines.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace perennial::tool {
namespace {

constexpr size_t piece_bytes = 256 << 10;
// A buffer that a long line has made larger than this is freed.
constexpr size_t kept_bytes_max = 16 << 20;

}  // namespace

Result<std::unique_ptr<DumpLines>> DumpLines::open(const std::string& path) {
  if (path == "-") return std::unique_ptr<DumpLines>(new DumpLines(STDIN_FILENO));
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) return std::unique_ptr<DumpLines>(new DumpLines(fd));
  const StatusCode code = errno == ENOENT ? StatusCode::NotFound : StatusCode::Io;
  return Status(code, "open " + path + ": " + std::strerror(errno));
}

DumpLines::~DumpLines() {
  if (fd_ != STDIN_FILENO) ::close(fd_);
}

Result<std::string_view> DumpLines::peek(size_t bytes) {
  while (buffer_.size() - begin_ < bytes) {
    const Result<bool> more = fill();
    if (!more.ok()) return more.status();
    if (!*more) break;
  }
  return std::string_view(buffer_).substr(begin_, bytes);
}

Result<bool> DumpLines::next(std::string_view& line) {
  hasher_.add(std::string_view(buffer_).substr(begin_ - line_bytes_, line_bytes_));
  line_bytes_ = 0;
  size_t searched = begin_;
  size_t end = buffer_.find('\n', searched);
  while (end == std::string::npos) {
    searched = buffer_.size() - begin_;  // Relative to the beginning of the line, which may move.
    const Result<bool> more = fill();
    if (!more.ok()) return more.status();
    if (!*more) break;
    end = buffer_.find('\n', begin_ + searched);
  }
  const bool has_end = end != std::string::npos;
  if (!has_end) end = buffer_.size();
  if (!has_end && begin_ == end) return false;
  line = std::string_view(buffer_).substr(begin_, end - begin_);
  line_bytes_ = line.size() + (has_end ? 1 : 0);
  begin_ += line_bytes_;
  ++number_;
  return true;
}

Result<bool> DumpLines::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  if (buffer_.capacity() > kept_bytes_max && buffer_.size() < piece_bytes) buffer_.shrink_to_fit();
  const size_t held = buffer_.size();
  buffer_.resize(held + piece_bytes);
  ssize_t got = 0;
  do {
    got = ::read(fd_, buffer_.data() + held, piece_bytes);
  } while (got < 0 && errno == EINTR);
  const int error = errno;
  buffer_.resize(held + (got > 0 ? static_cast<size_t>(got) : 0));
  if (got < 0) return Status(StatusCode::Io, std::string("read the dump: ") + std::strerror(error));
  return got > 0;
}

}  // namespace perennial::tool
