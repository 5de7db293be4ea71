#include "cmd/perenniald/net/socket_set.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <sys/epoll.h>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// Stands for libuv's own epoll set, where others have the number of a connection.
constexpr ConnId loop_mark = UINT64_MAX;

uint32_t events_of(SocketSet::Interest interest) {
  // epoll reports errors and the end of both directions always. A socket that is watched for
  // nothing is edge-triggered, so they are reported once. Otherwise the socket would be ready in
  // each turn until it is closed.
  if (interest == SocketSet::Interest{}) return EPOLLET;
  return (interest.reading ? EPOLLIN : 0u) | (interest.writing ? EPOLLOUT : 0u) |
         (interest.ending ? EPOLLRDHUP : 0u);
}

SocketSet::Interest interest_of(uint32_t events) {
  const bool failed = (events & (EPOLLERR | EPOLLHUP)) != 0;
  return {.reading = failed || (events & EPOLLIN) != 0,
          .writing = failed || (events & EPOLLOUT) != 0,
          .ending = failed || (events & EPOLLRDHUP) != 0};
}

}  // namespace

SocketSet::SocketSet(uv_loop_t& loop, Ready ready, std::function<bool()> has_time)
    : ready_(std::move(ready)),
      has_time_(std::move(has_time)),
      set_(loop, ::epoll_create1(EPOLL_CLOEXEC), [this] { report_ready(0); }) {}

// The kernel refuses two sets that watch each other, so libuv's watching ends first.
void SocketSet::take_over(uv_loop_t& loop) {
  set_.stop();
  epoll_event event = {.events = EPOLLIN, .data = {.u64 = loop_mark}};
  CHECK(::epoll_ctl(set_.fd(), EPOLL_CTL_ADD, uv_backend_fd(&loop), &event) == 0);
}

Status SocketSet::add(int fd, ConnId conn, Interest interest) {
  if (control(EPOLL_CTL_ADD, fd, conn, interest) == 0) return {};
  return {StatusCode::Io, std::string("epoll: ") + std::strerror(errno)};
}

// Modifying an entry needs no further memory of the kernel, so it cannot fail as add() can.
void SocketSet::change(int fd, ConnId conn, Interest interest) {
  CHECK(control(EPOLL_CTL_MOD, fd, conn, interest) == 0);
}

int SocketSet::control(int operation, int fd, ConnId conn, Interest interest) {
  epoll_event event = {.events = events_of(interest), .data = {.u64 = conn}};
  return ::epoll_ctl(set_.fd(), operation, fd, &event);
}

// The kernel moves a socket that it has reported to the end of its list. So all sockets of one call
// are passed on, even if the time is over: one that was skipped would wait for a whole round. While
// other sockets are ready, the set is readable, so the loop calls this again in the next turn.
void SocketSet::report_ready(int timeout_ms) {
  // More in a call cost fewer calls. Past its time a turn reads a little from each of these still.
  constexpr int few = reports_max;
  epoll_event events[few];
  Report reports[few];
  int count = 0;
  do {
    count = ::epoll_wait(set_.fd(), events, few, timeout_ms);
    size_t ready = 0;
    for (int i = 0; i < count; ++i) {
      if (events[i].data.u64 == loop_mark) continue;  // libuv's own poll comes next.
      reports[ready++] = {.conn = events[i].data.u64, .can = interest_of(events[i].events)};
    }
    if (ready > 0) ready_({reports, ready});
    timeout_ms = 0;
  } while (count == few && has_time_());
}

}  // namespace perennial::perenniald
