#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <sys/types.h>

#include "cmd/perenniald/net/streams/forward_header.h"
#include "cmd/perenniald/tls/peer_identity.h"

namespace perennial::perenniald {

// Moves bytes to and from one client, over a non-blocking socket.
class Stream {
 public:
  enum class State : uint8_t {
    Done,     // `bytes` were moved, at least one; none with PlainStream::Head::ForwardsFirst.
    Blocked,  // No bytes now: the socket set reports when to try again.
    Ended,    // Of a read: the client will send nothing more.
    Failed,   // The connection is broken.
  };
  struct Outcome {
    State state = State::Failed;
    size_t bytes = 0;
    bool is_last = false;  // Of bytes that were read: the client will send nothing behind them.
  };

  // The outcome of a call that was to move bytes: how many it has moved, or an errno, negative. 0:
  // there will be no more.
  static Outcome outcome_of(ssize_t result);

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // A stream may hold back fewer bytes than this until it has a whole piece of them.
  static constexpr size_t piece_bytes_max = 17 << 10;

  // Whether bytes of a session can be moved. Until a stream is open, it agrees with the client on
  // how to talk: read() makes progress in that, and may open the stream and return bytes at once.
  virtual bool is_open() const { return true; }

  // Takes at most `bytes_max` bytes from the socket, and gives all bytes that are complete.
  // REQUIRES: `bytes_max` is not 0, and `buffer` holds that many bytes and piece_bytes_max more.
  virtual Outcome read(std::span<char> buffer, size_t bytes_max) = 0;
  // Whether the socket carries the bytes of the session as they are, and the stream has none of its
  // own, from now on. Then the caller may send on fd() instead of calling write().
  virtual bool is_plain() const { return false; }
  // Bytes count as moved when the kernel has all that stands for them. Until then they are the
  // first of the next call. REQUIRES: `bytes` is not empty.
  virtual Outcome write(std::string_view bytes) = 0;
  // Whether the stream has bytes of its own that the kernel has not taken. flush() tries again when
  // the socket can be written.
  virtual bool has_unsent() const { return false; }
  virtual Outcome flush() { return {.state = State::Done}; }
  // Tells the client that nothing more will come, if the kernel takes that now. This is the last
  // call of a connection that ends in order.
  virtual void end() {}

  // The descriptor of the socket, to be watched. The stream owns it.
  virtual int fd() const = 0;

  // Gives the socket up: the caller owns it from now on. This is the last call. Returns -1 if the
  // stream cannot, because it has bytes of the client.
  virtual int release() { return -1; }

  // Who the client has proved to be. Null: it was not asked, or has nothing to show. REQUIRES: the
  // stream is open.
  virtual const PeerIdentity* peer() const { return nullptr; }
  // Whether what peer() has proved to own is revoked by now. REQUIRES: the stream is open.
  virtual bool is_revoked() const { return false; }
  // How bytes travel, for the log. REQUIRES: the stream is open.
  virtual std::string description() const { return "plain"; }
  // Whether it goes on with what an earlier connection agreed on. REQUIRES: the stream is open.
  virtual bool is_resumed() const { return false; }
  // Why the stream failed before it was open, for the log.
  virtual std::string failure() const { return {}; }
};

// A stream without encryption.
class PlainStream final : public Stream {
 public:
  // What may be in front of a client's bytes, and what becomes of it.
  enum class Head : uint8_t {
    Nothing,
    // Headers of standbys, which are removed: forward_header.h.
    Forwards,
    // The same, and the first bytes that are read are these headers and none of the client's, which
    // stay in the socket: perhaps there are no headers, and the client has sent something. It looks
    // once, at what is there.
    ForwardsFirst,
  };

  // Takes over the socket, and closes it.
  explicit PlainStream(int fd, Head head = Head::Nothing) : fd_(fd), head_(head) {}
  ~PlainStream() override;

  Outcome read(std::span<char> buffer, size_t bytes_max) override;
  bool is_plain() const override { return head_ == Head::Nothing; }
  Outcome write(std::string_view bytes) override;
  int fd() const override { return fd_; }
  int release() override { return std::exchange(fd_, -1); }

 private:
  Outcome without_forwards(std::span<char> buffer, Outcome got);
  Outcome read_forwards(std::span<char> buffer, size_t bytes_max);

  int fd_;
  Head head_;  // Nothing, once it is known what is in front.
  ForwardHeaders forwards_;
};

}  // namespace perennial::perenniald
