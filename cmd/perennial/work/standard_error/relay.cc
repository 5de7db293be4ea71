#include "cmd/perennial/work/standard_error/relay.h"

#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::tool::work {
namespace {

// Others may have made it a descriptor that does not block.
void wait_until_writable() {
  pollfd writable{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  ::poll(&writable, 1, -1);
}

// Under the lock of the stream, so that no line of the log gets into the middle of a piece.
void write_errors(std::string_view bytes) {
  ::flockfile(stderr);
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, bytes.data(), bytes.size());
    if (count >= 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      wait_until_writable();
    } else if (errno != EINTR) {
      break;
    }
  }
  ::funlockfile(stderr);
}

}  // namespace

Relay::~Relay() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Relay::add(Piece piece) {
  {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
  }
  changed_.notify_one();
}

void Relay::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !pieces_.empty(); });
    if (pieces_.empty()) return;
    const Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    lock.unlock();
    write_errors(piece.bytes);
    CHECK(::eventfd_write(piece.written_fd, 1) == 0);
    lock.lock();
  }
}

Result<Inlet> Inlet::make(Relay& relay) {
  common::Socket written(::eventfd(0, EFD_CLOEXEC));
  if (written.fd() < 0) return common::system_error("make an event");
  return Inlet(relay, std::move(written));
}

Inlet::Inlet(Inlet&& other) noexcept
    : relay_(other.relay_),
      written_(std::move(other.written_)),
      unwritten_(std::exchange(other.unwritten_, 0)) {}

void Inlet::give(std::string bytes) {
  if (bytes.empty()) return;
  ++unwritten_;
  relay_->add({.bytes = std::move(bytes), .written_fd = written_.fd()});
}

void Inlet::take_event() {
  CHECK(unwritten_ > 0);
  eventfd_t count = 0;
  while (::eventfd_read(written_.fd(), &count) != 0) CHECK(errno == EINTR);
  unwritten_ -= count;
}

void Inlet::wait() {
  while (!is_idle()) take_event();
}

}  // namespace perennial::tool::work
