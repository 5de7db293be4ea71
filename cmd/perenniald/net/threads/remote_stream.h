#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "cmd/perenniald/net/streams/stream.h"
#include "cmd/perenniald/net/threads/io_thread.h"

namespace perennial::perenniald {

// A stream whose bytes another thread moves. What the client sends does not come through read(),
// but as news of the thread. What is written counts as moved when the thread is to have it, as far
// as its windows allow. The end of this object ends the connection: at once, or behind what is in
// flight if end() was called.
class RemoteStream final : public Stream {
 public:
  // From here on the thread, which outlives this, moves the bytes of `stream`.
  RemoteStream(IoThread& thread, std::unique_ptr<Stream> stream, ConnId conn, std::string share,
               EpollSet::Interest interest);
  ~RemoteStream() override;

  // The thread has said that the stream is open.
  void on_opened() { is_open_ = true; }
  // What the loop wants to hear from now on.
  void watch(EpollSet::Interest interest);
  // The loop has heard what a part of the handshake has come to.
  void on_handshake_news() { ++handshake_news_; }
  // Whether more of it was read.
  bool has_unheard_handshake() const { return socket_->handshake_reads > handshake_news_; }
  // Whether something was read that the client has sent to its session, though the loop may not
  // have heard of it yet.
  bool is_read() const { return socket_->is_read; }

  bool is_open() const override { return is_open_; }
  Outcome read(std::span<char> /*buffer*/, size_t /*bytes_max*/) override {
    return {.state = State::Blocked};
  }
  Outcome write(std::string_view bytes) override;
  void end() override { ends_in_order_ = true; }
  int fd() const override { return socket_->stream->fd(); }
  const PeerIdentity* peer() const override { return socket_->stream->peer(); }
  bool is_revoked() const override { return socket_->stream->is_revoked(); }
  std::string description() const override { return socket_->stream->description(); }
  bool is_resumed() const override { return socket_->stream->is_resumed(); }
  std::string failure() const override { return socket_->stream->failure(); }

 private:
  IoThread& thread_;
  IoSocket* const socket_;  // The thread's, until this gives it Order::Close.
  bool is_open_;
  bool ends_in_order_ = false;
  uint64_t handshake_news_ = 0;
};

}  // namespace perennial::perenniald
