#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "cmd/common/socket.h"
#include "engine/types/status.h"

namespace perennial::tool::work {

// Writes to the worker's standard error what its commands write to theirs. It does so on a thread
// of its own: such a write takes as long as the reader likes, and a runner has to touch its job
// meanwhile. What cannot be written is dropped, as a log that nobody reads. Owns the queue, which
// holds at most two pieces of each inlet.
class Relay {
 public:
  Relay() : thread_([this] { serve(); }) {}
  // REQUIRES: no inlet is left.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

 private:
  friend class Inlet;

  struct Piece {
    std::string bytes;
    int written_fd;  // The event that is raised afterwards. Its inlet waits for it.
  };

  void add(Piece piece);
  void serve();

  // Inlets add pieces on the threads of their runners, and the thread of the relay takes them.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  bool is_ending_ = false;
  std::thread thread_;
};

// The way of one runner into the relay. For one thread.
class Inlet {
 public:
  // `relay` outlives it. Io: the process has no descriptor left.
  static Result<Inlet> make(Relay& relay);

  Inlet(Inlet&& other) noexcept;
  Inlet& operator=(Inlet&&) = delete;
  // Waits, as wait() does.
  ~Inlet() { wait(); }

  // Hands a piece over, which is written in one call. Waits for nothing.
  void give(std::string bytes);
  // Whether all that was given has been written, as far as take_event() knows.
  bool is_idle() const { return unwritten_ == 0; }
  // Readable when something has been written. take_event() then takes note of it, and waits for it
  // if it is not readable. REQUIRES for take_event(): not is_idle().
  int fd() const { return written_.fd(); }
  void take_event();
  // Waits until all is written.
  void wait();

 private:
  Inlet(Relay& relay, common::Socket written) : relay_(&relay), written_(std::move(written)) {}

  Relay* relay_;
  common::Socket written_;  // An eventfd that counts the pieces.
  uint64_t unwritten_ = 0;
};

}  // namespace perennial::tool::work
