#include "cmd/perenniald/net/streams/socket_batch.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/socket.h>

#include "engine/types/check.h"

namespace perennial::perenniald {

Result<std::unique_ptr<SocketBatch>> SocketBatch::create() {
  io_uring ring;
  if (const int result = io_uring_queue_init(sockets_max, &ring, 0); result != 0)
    return Status(StatusCode::Unsupported, std::string("io_uring: ") + std::strerror(-result));
  return std::unique_ptr<SocketBatch>(new SocketBatch(ring));
}

SocketBatch::SocketBatch(const io_uring& ring) : ring_(ring) {
  io_uring_register_ring_fd(&ring_);  // Saves a look-up in each call. Older kernels refuse it.
}

SocketBatch::~SocketBatch() {
  io_uring_queue_exit(&ring_);
}

// MSG_DONTWAIT: the kernel does not wait for a socket, and keeps no request for later.
void SocketBatch::send(int fd, std::string_view bytes) {
  io_uring_sqe& entry = add();
  io_uring_prep_send(&entry, fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  io_uring_sqe_set_data64(&entry, count_++);
}

void SocketBatch::receive(int fd, std::span<char> buffer) {
  io_uring_sqe& entry = add();
  io_uring_prep_recv(&entry, fd, buffer.data(), buffer.size(), MSG_DONTWAIT);
  io_uring_sqe_set_data64(&entry, count_++);
}

io_uring_sqe& SocketBatch::add() {
  CHECK(has_slot());
  CHECK(status_.ok());
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  CHECK(entry != nullptr);
  return *entry;
}

// One call does it. A signal, or a kernel that is short of memory, may end that call early.
std::span<const Stream::Outcome> SocketBatch::run() {
  outcomes_.assign(count_, {.state = Stream::State::Blocked});
  for (size_t left = std::exchange(count_, 0); left > 0;) {
    const int result = io_uring_submit_and_wait(&ring_, static_cast<unsigned>(left));
    left -= collect();
    if (result >= 0 || result == -EINTR) continue;
    status_ = Status(StatusCode::Io, std::string("io_uring: ") + std::strerror(-result));
    break;
  }
  return outcomes_;
}

// Returns how many are done.
size_t SocketBatch::collect() {
  unsigned head = 0;
  unsigned count = 0;
  const io_uring_cqe* done = nullptr;
  io_uring_for_each_cqe(&ring_, head, done) {
    outcomes_[done->user_data] = Stream::outcome_of(done->res);
    ++count;
  }
  io_uring_cq_advance(&ring_, count);
  return count;
}

}  // namespace perennial::perenniald
