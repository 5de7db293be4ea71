#include "cmd/perenniald/net/stream.h"

#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

namespace perennial::perenniald {
namespace {

// The outcome of a call that failed.
Stream::Outcome failed(int error) {
  const bool is_passing = error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
  return {.state = is_passing ? Stream::State::Blocked : Stream::State::Failed};
}

}  // namespace

PlainStream::~PlainStream() {
  if (fd_ >= 0) ::close(fd_);
}

Stream::Outcome PlainStream::read(std::span<char> buffer, size_t bytes_max) {
  const ssize_t count = ::recv(fd_, buffer.data(), bytes_max, 0);
  if (count < 0) return failed(errno);
  if (count == 0) return {.state = State::Ended};
  return {.state = State::Done, .bytes = static_cast<size_t>(count)};
}

Stream::Outcome PlainStream::write(std::string_view bytes) {
  const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (count < 0) return failed(errno);
  return {.state = State::Done, .bytes = static_cast<size_t>(count)};
}

}  // namespace perennial::perenniald
