#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <liburing.h>

#include "cmd/perenniald/net/streams/stream.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// Sends to many sockets, or receives from many, with one call to the kernel for all of them. It
// uses io_uring for this and for nothing else: which sockets are ready is the socket set's to say.
//
// Nothing is left under way: when run() returns, each socket has taken or given what it could at
// once. So the bytes belong to the caller again, as after send() and recv().
class SocketBatch {
 public:
  static constexpr size_t sockets_max = 64;

  // Unsupported: the kernel has no io_uring, or forbids it, as the rules of many containers do.
  static Result<std::unique_ptr<SocketBatch>> create();
  ~SocketBatch();
  SocketBatch(const SocketBatch&) = delete;
  SocketBatch& operator=(const SocketBatch&) = delete;

  size_t count() const { return count_; }
  bool has_slot() const { return count_ < sockets_max; }
  // Both add to the batch. The bytes stay where they are until run() returns. REQUIRES: has_slot().
  void send(int fd, std::string_view bytes);
  void receive(int fd, std::span<char> buffer);
  // Does everything that was added, and returns what came of it, in the same order. It is valid
  // until the next call.
  std::span<const Stream::Outcome> run();
  // Not ok: the kernel has refused a call. Sockets that were not reached are blocked, and nothing
  // may be added any more.
  const Status& status() const { return status_; }

 private:
  explicit SocketBatch(const io_uring& ring);
  io_uring_sqe& add();
  size_t collect();

  io_uring ring_;
  size_t count_ = 0;
  std::vector<Stream::Outcome> outcomes_;
  Status status_;
};

}  // namespace perennial::perenniald
