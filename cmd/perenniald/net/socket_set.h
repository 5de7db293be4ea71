#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include <uv.h>

#include "cmd/perenniald/loop/watched_fd.h"
#include "cmd/perenniald/net/streams/epoll_set.h"
#include "engine/types/basic.h"
#include "engine/types/status.h"

namespace perennial::perenniald {

// Reports which of many sockets can be read or written, a few at a time and in turns. It is an
// epoll set, which libuv watches as one descriptor.
//
// libuv's own streams were tried first. libuv reports all ready sockets in one turn, however many
// there are and always in the same order, and polls up to 48 times for a thousand more. With
// thousands of clients a turn took 60 to 90 ms, half of it for polling. Here a turn ends when its
// time is over, and the next turn goes on with the sockets that were not reported.
//
// After take_over() it is the other way round: the set watches libuv, and the loop blocks in
// wait(). While libuv watches the set, the kernel passes each byte of a client on to both sets, and
// wakes the loop by way of the outer one. That costs loop and client more than a tenth of a put.
class SocketSet {
 public:
  using Interest = EpollSet::Interest;
  using Report = EpollSet::Report;
  static constexpr size_t reports_max = EpollSet::reports_max;
  // Called for sockets that are ready. The callback may close or change any of them.
  using Ready = std::function<void(std::span<const Report> reports)>;

  // `ready` is called from the loop for as long as the socket is ready. After each call
  // `has_time` says whether more may follow in this turn. Both may call anything here but close().
  // `loop` and what the functions use outlive this. CHECK: the kernel creates no epoll set.
  SocketSet(uv_loop_t& loop, Ready ready, std::function<bool()> has_time);
  SocketSet(const SocketSet&) = delete;
  SocketSet& operator=(const SocketSet&) = delete;

  // As those of EpollSet.
  Status add(int fd, ConnId conn, Interest interest) { return epoll_.add(fd, conn, interest); }
  void change(int fd, ConnId conn, Interest interest) { epoll_.change(fd, conn, interest); }
  void remove(int fd) { epoll_.remove(fd); }
  // From here on libuv no longer watches this set. Instead the set watches libuv, and the loop
  // blocks in wait(). REQUIRES: libuv is given no descriptor after its last poll: it begins to
  // watch one only with its next poll, and wait() would miss what happens to it.
  void take_over(uv_loop_t& loop);
  // Reports sockets that are ready. If neither a socket nor a handle of libuv is ready, it waits
  // for one, for at most this time in milliseconds; -1: for any time. libuv has to poll afterwards,
  // without blocking. REQUIRES: take_over().
  void wait(int timeout_ms) { report_ready(timeout_ms); }
  // Can be read when wait() would not block.
  int fd() const { return set_.fd(); }
  // Closes its handle, which the loop needs to end. It may be destroyed when the loop has ended.
  void close() { set_.close(); }

 private:
  void report_ready(int timeout_ms);

  const Ready ready_;
  const std::function<bool()> has_time_;
  WatchedFd set_;
  EpollSet epoll_{set_.fd()};
};

}  // namespace perennial::perenniald
