#include "cmd/perenniald/net/stream.h"

#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

namespace perennial::perenniald {

Stream::Outcome Stream::outcome_of(ssize_t result) {
  if (result == 0) return {.state = State::Ended};
  if (result > 0) return {.state = State::Done, .bytes = static_cast<size_t>(result)};
  const bool is_passing = result == -EAGAIN || result == -EWOULDBLOCK || result == -EINTR;
  return {.state = is_passing ? State::Blocked : State::Failed};
}

PlainStream::~PlainStream() {
  if (fd_ >= 0) ::close(fd_);
}

Stream::Outcome PlainStream::read(std::span<char> buffer, size_t bytes_max) {
  const ssize_t count = ::recv(fd_, buffer.data(), bytes_max, 0);
  return outcome_of(count < 0 ? -errno : count);
}

Stream::Outcome PlainStream::write(std::string_view bytes) {
  const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return outcome_of(count < 0 ? -errno : count);
}

}  // namespace perennial::perenniald
