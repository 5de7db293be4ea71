#include "cmd/perenniald/net/streams/tls_stream.h"

#include <algorithm>
#include <array>
#include <utility>

#include "cmd/perenniald/loop/turn_budget.h"
#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// What is encrypted at a time.
constexpr size_t piece_bytes = 64 << 10;
// A client that reads nothing may still ask for messages of TLS, each of which is answered.
constexpr size_t unsent_bytes_max = 256 << 10;
// An idle connection keeps no larger buffer than this.
constexpr size_t idle_bytes_max = 1 << 10;

}  // namespace

static_assert(Stream::piece_bytes_max >= TlsChannel::record_bytes_max);

TlsStream::TlsStream(int fd, std::unique_ptr<TlsChannel> channel, PlainStream::Head head)
    : socket_(fd, head), channel_(std::move(channel)) {}

bool TlsStream::is_open() const {
  const TlsChannel::State state = channel_->state();
  return state == TlsChannel::State::Open || state == TlsChannel::State::Ended;
}

Stream::Outcome TlsStream::read(std::span<char> buffer, size_t bytes_max) {
  // All of it is read at once, so nothing waits in the stream while the socket has no more.
  std::array<char, TurnBudget::read_bytes_max + piece_bytes_max> received;
  const Outcome got = socket_.read(received, std::min(bytes_max, TurnBudget::read_bytes_max));
  if (got.state != State::Done) return got;
  const size_t bytes = channel_->receive(std::span(received).first(got.bytes), buffer);
  if (flush().state == State::Failed) return {};
  if (channel_->output().size() - sent_ > unsent_bytes_max) return {};
  switch (channel_->state()) {
    case TlsChannel::State::Failed:
      return {};
    case TlsChannel::State::Ended:
      if (bytes == 0) return {.state = State::Ended};
      return {.state = State::Done, .bytes = bytes, .is_last = true};
    case TlsChannel::State::Handshaking:
    case TlsChannel::State::Open:
      break;
  }
  return {.state = bytes > 0 ? State::Done : State::Blocked, .bytes = bytes};
}

Stream::Outcome TlsStream::write(std::string_view bytes) {
  size_t moved = 0;
  for (;;) {
    if (flush().state == State::Failed) return {};
    if (has_unsent()) break;
    moved += std::exchange(encrypted_, 0);
    CHECK(moved <= bytes.size());
    if (moved == bytes.size()) break;
    const std::string_view piece = bytes.substr(moved, piece_bytes);
    channel_->send(piece);
    if (channel_->state() == TlsChannel::State::Failed) return {};
    encrypted_ = piece.size();
  }
  return {.state = moved > 0 ? State::Done : State::Blocked, .bytes = moved};
}

Stream::Outcome TlsStream::flush() {
  std::string& output = channel_->output();
  while (sent_ < output.size()) {
    const Outcome sent = socket_.write(std::string_view(output).substr(sent_));
    if (sent.state != State::Done) return sent;
    sent_ += sent.bytes;
  }
  sent_ = 0;
  output.clear();
  if (output.capacity() > idle_bytes_max) output.shrink_to_fit();
  return {.state = State::Done};
}

void TlsStream::end() {
  channel_->end();
  flush();
}

const PeerIdentity* TlsStream::peer() const {
  return channel_->peer() ? &*channel_->peer() : nullptr;
}

std::string TlsStream::description() const {
  return channel_->description() + (channel_->is_resumed() ? " resumed" : "");
}

}  // namespace perennial::perenniald
