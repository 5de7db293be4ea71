#include "cmd/perenniald/net/socket_set.h"

#include <algorithm>
#include <array>
#include <utility>

#include <sys/epoll.h>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// Stands for libuv's own epoll set, where others have the number of a connection.
constexpr ConnId loop_mark = UINT64_MAX;

}  // namespace

SocketSet::SocketSet(uv_loop_t& loop, Ready ready, std::function<bool()> has_time)
    : ready_(std::move(ready)),
      has_time_(std::move(has_time)),
      set_(loop, ::epoll_create1(EPOLL_CLOEXEC), [this] { report_ready(0); }) {}

// The kernel refuses two sets that watch each other, so libuv's watching ends first.
void SocketSet::take_over(uv_loop_t& loop) {
  set_.stop();
  CHECK(epoll_.add(uv_backend_fd(&loop), loop_mark, {.reading = true}).ok());
}

// The kernel moves a socket that it has reported to the end of its list. So all sockets of one call
// are passed on, even if the time is over: one that was skipped would wait for a whole round. While
// other sockets are ready, the set is readable, so the loop calls this again in the next turn.
void SocketSet::report_ready(int timeout_ms) {
  // More in a call cost fewer calls. Past its time a turn reads a little from each of these still.
  std::array<Report, reports_max> reports;
  size_t count = 0;
  do {
    count = epoll_.wait(reports, timeout_ms);
    const auto end = reports.begin() + static_cast<ptrdiff_t>(count);
    // libuv's own poll comes next.
    const auto ready = std::remove_if(
        reports.begin(), end, [](const Report& report) { return report.conn == loop_mark; });
    if (ready != reports.begin()) ready_(std::span(reports.begin(), ready));
    timeout_ms = 0;
  } while (count == reports.size() && has_time_());
}

}  // namespace perennial::perenniald
