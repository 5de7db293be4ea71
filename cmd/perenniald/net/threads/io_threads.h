#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "cmd/perenniald/net/threads/io_thread.h"
#include "cmd/perenniald/net/threads/waker.h"

namespace perennial::perenniald {

// The threads that move bytes, seen from the loop. Clients are spread over them when they come, and
// stay where they are.
class IoThreads {
 public:
  struct Settings {
    uint64_t count = 1;
    bool io_uring = true;
    uint64_t handshakes_per_turn = 4;
    // IoThread::Hooks::before_send, called on each of them.
    std::function<void()> before_send = [] {};
  };
  // REQUIRES: there is at least one.
  explicit IoThreads(const Settings& settings);

  void start();
  void stop();
  // The thread for one more client: the one that has the fewest. From three threads on the last one
  // has the clients of HTTP, and no others, so that a scrape or a download disturbs none of these.
  IoThread& choose(bool is_http);
  // Gives them what was ordered.
  void flush();
  bool has_news() const;
  // Clients that they have: IoThread::sockets().
  size_t sockets() const;
  // Bytes that they have and the kernel has not.
  size_t in_flight() const;
  // Wakes the loop.
  Waker& waker() { return waker_; }
  std::span<const std::unique_ptr<IoThread>> all() const { return threads_; }

 private:
  Waker waker_;
  std::vector<std::unique_ptr<IoThread>> threads_;
};

}  // namespace perennial::perenniald
