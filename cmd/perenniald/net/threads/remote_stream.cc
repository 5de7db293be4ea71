#include "cmd/perenniald/net/threads/remote_stream.h"

#include <algorithm>
#include <utility>

namespace perennial::perenniald {

RemoteStream::RemoteStream(IoThread& thread, std::unique_ptr<Stream> stream, ConnId conn,
                           std::string share, EpollSet::Interest interest)
    : thread_(thread),
      socket_(std::make_unique<IoSocket>(conn, std::move(share), std::move(stream)).release()),
      is_open_(socket_->stream->is_open()) {
  thread_.order({.socket = socket_, .kind = Order::Kind::Add, .interest = interest});
}

RemoteStream::~RemoteStream() {
  thread_.order({.socket = socket_, .kind = Order::Kind::Close, .in_order = ends_in_order_});
}

void RemoteStream::watch(EpollSet::Interest interest) {
  thread_.order({.socket = socket_, .kind = Order::Kind::Watch, .interest = interest});
}

Stream::Outcome RemoteStream::write(std::string_view bytes) {
  const size_t moved = std::min(bytes.size(), thread_.free_window(*socket_));
  if (moved == 0) return {.state = State::Blocked};
  thread_.order({.socket = socket_, .kind = Order::Kind::Send}, bytes.substr(0, moved));
  return {.state = State::Done, .bytes = moved};
}

}  // namespace perennial::perenniald
