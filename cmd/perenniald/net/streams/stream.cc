#include "cmd/perenniald/net/streams/stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

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
  if (head_ == Head::ForwardsFirst) return read_forwards(buffer, bytes_max);
  const ssize_t count = ::recv(fd_, buffer.data(), bytes_max, 0);
  const Outcome got = outcome_of(count < 0 ? -errno : count);
  if (head_ == Head::Nothing || got.state != State::Done) return got;
  return without_forwards(buffer, got);
}

Stream::Outcome PlainStream::without_forwards(std::span<char> buffer, Outcome got) {
  const size_t taken = forwards_.take({buffer.data(), got.bytes});
  const std::string_view back = forwards_.given_back();
  const size_t rest = got.bytes - taken;
  std::memmove(buffer.data() + back.size(), buffer.data() + taken, rest);
  std::ranges::copy(back, buffer.begin());
  if (forwards_.done()) head_ = Head::Nothing;
  const size_t bytes = back.size() + rest;
  return {.state = bytes > 0 ? State::Done : State::Blocked, .bytes = bytes};
}

Stream::Outcome PlainStream::read_forwards(std::span<char> buffer, size_t bytes_max) {
  const size_t looked_at = std::min(bytes_max, forward_hops_max * forward_header.size());
  const ssize_t seen = ::recv(fd_, buffer.data(), looked_at, MSG_PEEK);
  if (seen <= 0) return outcome_of(seen < 0 ? -errno : seen);
  head_ = Head::Nothing;
  forwards_.take({buffer.data(), static_cast<size_t>(seen)});
  const size_t bytes = forwards_.count() * forward_header.size();
  if (bytes == 0) return {.state = State::Done};
  const ssize_t count = ::recv(fd_, buffer.data(), bytes, 0);
  return outcome_of(count < 0 ? -errno : count);
}

Stream::Outcome PlainStream::write(std::string_view bytes) {
  const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return outcome_of(count < 0 ? -errno : count);
}

}  // namespace perennial::perenniald
