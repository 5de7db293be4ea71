#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "engine/types/basic.h"

namespace perennial::core {

// What speaks with one client: bytes in, bytes out. Whoever moves the bytes knows no more of a
// connection than this, and not which protocol it speaks.
//
// `now` never goes back. All calls are made by the thread of the loop.
class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // ---- What happened.
  // `later`: they are only kept, and answered when it is this session's turn: there are others who
  // wait for theirs.
  virtual void on_bytes(std::span<const char> bytes, Nanos now, bool later = false) = 0;
  // The client will send nothing more, but not all that it has sent has come here. What waits for
  // something to happen waits no longer.
  virtual void on_half_close(Nanos now) = 0;
  // The same, and all has come. It is still answered.
  virtual void on_eof(Nanos now) = 0;
  // The first `bytes` of output() have left.
  virtual void on_written(size_t bytes) = 0;
  // The connection is gone, and so is the session: this is the last call.
  virtual void on_close(Nanos now) = 0;

  // ---- What to do. When one of these is no longer what it was when it was last asked for, the
  // connection is among those that Core::take_changed() gives.
  // Bytes that may leave now, from the first: all, or as many as lie together. Valid until the next
  // call.
  virtual std::string_view output() const = 0;
  // Whether to read on.
  virtual bool reading() = 0;
  // Whether all that the client will ever be answered has left: close it, and call on_close().
  virtual bool finished() const = 0;
  // Of one that is finished because its client speaks another protocol: which, for the log. Empty
  // of all others.
  virtual std::string_view speaks() const = 0;

 protected:
  ~Session() = default;  // Whoever made it ends it.
};

}  // namespace perennial::core
