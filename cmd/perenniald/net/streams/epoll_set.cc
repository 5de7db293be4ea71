#include "cmd/perenniald/net/streams/epoll_set.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include <sys/epoll.h>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

uint32_t events_of(EpollSet::Interest interest) {
  // epoll reports errors and the end of both directions always. A socket that is watched for
  // nothing is edge-triggered, so they are reported once. Otherwise the socket would be ready in
  // each turn until it is closed.
  if (interest == EpollSet::Interest{}) return EPOLLET;
  return (interest.reading ? EPOLLIN : 0u) | (interest.writing ? EPOLLOUT : 0u) |
         (interest.ending ? EPOLLRDHUP : 0u);
}

EpollSet::Interest interest_of(uint32_t events) {
  const bool failed = (events & (EPOLLERR | EPOLLHUP)) != 0;
  return {.reading = failed || (events & EPOLLIN) != 0,
          .writing = failed || (events & EPOLLOUT) != 0,
          .ending = failed || (events & EPOLLRDHUP) != 0};
}

}  // namespace

Status EpollSet::add(int fd, ConnId conn, Interest interest) {
  if (control(EPOLL_CTL_ADD, fd, conn, interest) == 0) return {};
  return {StatusCode::Io, std::string("epoll: ") + std::strerror(errno)};
}

// Modifying an entry needs no further memory of the kernel, so it cannot fail as add() can.
void EpollSet::change(int fd, ConnId conn, Interest interest) {
  CHECK(control(EPOLL_CTL_MOD, fd, conn, interest) == 0);
}

void EpollSet::remove(int fd) {
  CHECK(control(EPOLL_CTL_DEL, fd, 0, {}) == 0);
}

int EpollSet::control(int operation, int fd, ConnId conn, Interest interest) const {
  epoll_event event = {.events = events_of(interest), .data = {.u64 = conn}};
  return ::epoll_ctl(fd_, operation, fd, &event);
}

size_t EpollSet::wait(std::span<Report> reports, int timeout_ms) const {
  CHECK(reports.size() <= reports_max);
  std::array<epoll_event, reports_max> events;
  const int count = ::epoll_wait(fd_, events.data(), static_cast<int>(reports.size()), timeout_ms);
  size_t filled = 0;
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    reports[filled++] = {.conn = event.data.u64, .can = interest_of(event.events)};
  }
  return filled;
}

}  // namespace perennial::perenniald
