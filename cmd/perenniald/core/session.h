#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "engine/types/basic.h"

namespace perennial::core {

// Speaks a protocol with one client: bytes in, bytes out. The code that moves bytes sees a
// connection through this interface only, and does not know its protocol.
//
// `now` never goes back. All calls are made on the thread of the loop.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // ---- What happened.
  // `later`: the bytes are only kept, and are run when it is this session's turn, because other
  // sessions wait for theirs.
  virtual void on_bytes(std::span<const char> bytes, Nanos now, bool later = false) = 0;
  // The client will send nothing more, but some of its bytes have not been read yet. Commands that
  // wait for an event, such as a reserve, stop waiting.
  virtual void on_half_close(Nanos now) = 0;
  // The client will send nothing more, and all of its bytes were given to on_bytes(). They are
  // still answered.
  virtual void on_eof(Nanos now) = 0;
  // The first `bytes` of output() have left.
  virtual void on_written(size_t bytes) = 0;
  // The connection is closed. This is the last call: the session is destroyed.
  virtual void on_close(Nanos now) = 0;

  // ---- What to do. When one of these results changes, Core::take_changed() lists the connection.
  // Bytes that may leave now, from the first one: all of them, or as many as are contiguous. Valid
  // until the next call.
  virtual std::string_view output() const = 0;
  // Whether to read more bytes from the client.
  virtual bool reading() = 0;
  // Whether every answer that the client will get has left. The caller then closes the connection
  // and calls on_close().
  virtual bool finished() const = 0;
  // The foreign protocol of a session that is finished because its client speaks one, for the log.
  // Empty for all other sessions.
  virtual std::string_view speaks() const = 0;
  // Whether the client's bytes may hold a secret, such as a token. Whoever has given them to
  // on_bytes() wipes them then.
  virtual bool may_hear_secret() const = 0;

 protected:
  ~Session() = default;  // The session's owner destroys it, not its user.
};

}  // namespace perennial::core
