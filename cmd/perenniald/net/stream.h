#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace perennial::perenniald {

// How bytes get to a client and back: over a socket that does not block.
class Stream {
 public:
  enum class State : uint8_t {
    Done,     // As many as `bytes` says, at least one.
    Blocked,  // None now: the socket set will tell when to try again.
    Ended,    // Of a read: the client sends nothing more.
    Failed,   // The connection is broken.
  };
  struct Outcome {
    State state = State::Failed;
    size_t bytes = 0;
  };

  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Into `room`, which is not empty.
  virtual Outcome read(std::span<char> room) = 0;
  // REQUIRES: there are some.
  virtual Outcome write(std::string_view bytes) = 0;
  // The socket, to be watched.
  virtual int fd() const = 0;
};

// The bytes as they are.
class PlainStream final : public Stream {
 public:
  // Takes the socket over, and closes it.
  explicit PlainStream(int fd) : fd_(fd) {}
  ~PlainStream() override;

  Outcome read(std::span<char> room) override;
  Outcome write(std::string_view bytes) override;
  int fd() const override { return fd_; }

 private:
  const int fd_;
};

}  // namespace perennial::perenniald
