#pragma once

#include <cstddef>
#include <memory>

#include "cmd/perenniald/net/streams/stream.h"
#include "cmd/perenniald/tls/tls_channel.h"

namespace perennial::perenniald {

// A stream with TLS. It is open when the handshake is finished.
//
// It encrypts a piece of a session's output at a time, and these bytes stay in the session, and
// count there, until the kernel has the whole piece. So what waits for a client that does not read
// is counted once, and its ciphertext is bounded.
class TlsStream final : public Stream {
 public:
  // Takes over the socket, and closes it. `head`: what may be in front of the handshake.
  TlsStream(int fd, std::unique_ptr<TlsChannel> channel, PlainStream::Head head);

  bool is_open() const override;
  Outcome read(std::span<char> buffer, size_t bytes_max) override;
  Outcome write(std::string_view bytes) override;
  bool has_unsent() const override { return sent_ < channel_->output().size(); }
  Outcome flush() override;
  void end() override;
  int fd() const override { return socket_.fd(); }
  const PeerIdentity* peer() const override;
  std::string description() const override;
  bool is_revoked() const override { return channel_->is_revoked(); }
  bool is_resumed() const override { return channel_->is_resumed(); }
  std::string failure() const override { return channel_->failure(); }

 private:
  PlainStream socket_;
  const std::unique_ptr<TlsChannel> channel_;
  size_t sent_ = 0;       // Bytes of the channel's output that the kernel has.
  size_t encrypted_ = 0;  // Bytes of the session whose records are in the channel's output.
};

}  // namespace perennial::perenniald
