#include "cmd/perenniald/net/streams/proxy_stream.h"

#include <algorithm>
#include <cerrno>
#include <span>

#include <sys/socket.h>

namespace perennial::perenniald {

// Looks at the bytes before it takes them, because the last of them may be the client's.
Stream::Outcome ProxyStream::read(std::span<char> buffer, size_t bytes_max) {
  using HeaderState = ProxyHeaderRead::State;
  const size_t looked_at = std::min({buffer.size(), bytes_max, proxy_header_bytes_max});
  const ssize_t seen = ::recv(fd(), buffer.data(), looked_at, MSG_PEEK);
  if (seen <= 0) return outcome_of(seen < 0 ? -errno : seen);
  const std::string bytes = held_ + std::string(buffer.data(), static_cast<size_t>(seen));
  ProxyHeaderRead read = read_proxy_header(bytes);
  if (read.state == HeaderState::None) {
    failure_ = "it sent no PROXY header, which this listener wants (proxy: true)";
    return {.state = State::Failed};
  }
  const bool is_whole = read.state == HeaderState::Whole;
  const size_t taken = (is_whole ? read.header.bytes : bytes.size()) - held_.size();
  const ssize_t got = ::recv(fd(), buffer.data(), taken, 0);
  if (got <= 0) return outcome_of(got < 0 ? -errno : got);
  held_ = bytes.substr(0, held_.size() + static_cast<size_t>(got));
  if (held_ == forward_header && forwards_ < forward_hops_max) {
    ++forwards_;
    held_.clear();
    return {.state = State::Blocked};
  }
  if (is_whole) header_ = std::move(read.header);
  return {.state = State::Blocked};
}

}  // namespace perennial::perenniald
