#include "cmd/perenniald/standby/leader_watch.h"

#include <cerrno>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

// A line is replaced after renewal_ms, and stays for overlap_ms beside its successor. Together they
// are less than the time that a listener gives a client for its handshake or its first request.
constexpr uint64_t renewal_ms = 3'000;
constexpr uint64_t overlap_ms = 1'000;
// A line that is older may have been closed for its silence. It is less than that time, too.
constexpr uint64_t line_ms_max = 4'500;
// How soon a machine that did not answer is dialled again.
constexpr uint64_t retry_ms = 500;
// The kernel closes the sockets of a process that ends one after the other. One that listens may
// still take a connection, which is then reset, and soon.
constexpr uint64_t accepted_ms_max = 1'000;
// A leader that cannot be dialled is not reported before this time: if its process has ended,
// another node leads by then.
constexpr uint64_t unreached_ms = 5'000;
// How long after a refusal the address is dialled again, to confirm it.
constexpr uint64_t confirmation_ms = 30;
constexpr int refusals_needed = 2;

}  // namespace

struct LeaderWatch::Line {
  // `after_end`: the line before it has ended as that of a process that ends.
  Line(LeaderWatch& watch, int socket, bool after_end)
      : owner(&watch), fd(socket), follows_end(after_end), opened_at(uv_now(&watch.loop_)) {
    CHECK(uv_poll_init(&watch.loop_, &poll, fd) == 0);
    poll.data = this;
    const auto on_readable = [](uv_poll_t* handle, int /*status*/, int /*events*/) {
      static_cast<Line*>(handle->data)->on_readable();
    };
    CHECK(uv_poll_start(&poll, UV_READABLE | UV_DISCONNECT, on_readable) == 0);
  }
  void on_readable() {
    char byte = 0;
    const ssize_t count = ::recv(fd, &byte, 1, 0);
    if (count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR))) return;
    const uint64_t age_ms = uv_now(&owner->loop_) - opened_at;
    const bool is_end = count == 0 && age_ms <= line_ms_max;
    const bool was_not_accepted = count < 0 && follows_end && age_ms <= accepted_ms_max;
    owner->on_line_ended(this, is_end || was_not_accepted);
  }
  void close() {
    uv_close(reinterpret_cast<uv_handle_t*>(&poll), [](uv_handle_t* handle) {
      const Line* const line = static_cast<Line*>(handle->data);
      ::close(line->fd);
      delete line;
    });
  }

  LeaderWatch* const owner;
  const int fd;
  const bool follows_end;
  const uint64_t opened_at;  // By uv_now().
  uv_poll_t poll = {};
};

LeaderWatch::LeaderWatch(uv_loop_t& loop, Dialer& dialer, Hooks hooks)
    : loop_(loop), dialer_(dialer), hooks_(std::move(hooks)) {
  CHECK(uv_timer_init(&loop_, &timer_) == 0);
  timer_.data = this;
}

void LeaderWatch::set_leader(const std::string& address, uint64_t epoch) {
  if (address == address_ && epoch == epoch_) return;
  address_ = address;
  epoch_ = epoch;
  ++generation_;
  refusals_ = 0;
  is_closed_ = false;
  is_dialling_ = false;
  reached_at_ = uv_now(&loop_);
  set_reached(std::nullopt);
  drop_lines();
  uv_timer_stop(&timer_);
  if (!address_.empty()) dial();
}

void LeaderWatch::dial() {
  if (address_.empty() || std::exchange(is_dialling_, true)) return;
  dialer_.dial(address_, [this, generation = generation_](int fd, int error) {
    if (generation == generation_) return on_dialled(fd, error);
    if (fd >= 0) ::close(fd);
  });
}

void LeaderWatch::dial_after(uint64_t milliseconds) {
  const auto fired = [](uv_timer_t* timer) { static_cast<LeaderWatch*>(timer->data)->on_timer(); };
  CHECK(uv_timer_start(&timer_, fired, milliseconds, 0) == 0);
}

void LeaderWatch::on_timer() {
  if (former_ == nullptr) return dial();
  std::exchange(former_, nullptr)->close();
  dial_after(renewal_ms - overlap_ms);
}

void LeaderWatch::on_dialled(int fd, int error) {
  is_dialling_ = false;
  if (fd >= 0) {
    refusals_ = 0;
    reached_at_ = uv_now(&loop_);
    set_reached(true);
    if (former_ != nullptr) former_->close();
    former_ = std::exchange(line_, new Line(*this, fd, std::exchange(is_closed_, false)));
    return dial_after(former_ == nullptr ? renewal_ms : overlap_ms);
  }
  // An open line stays. It proves more than a failed dial.
  const bool is_connected = line_ != nullptr || former_ != nullptr;
  if (!is_connected && uv_now(&loop_) - reached_at_ >= unreached_ms) set_reached(false);
  if (error != ECONNREFUSED || !is_closed_ || is_connected) {
    refusals_ = 0;
    return dial_after(retry_ms);
  }
  if (++refusals_ < refusals_needed) return dial_after(confirmation_ms);
  if (refusals_ == refusals_needed) hooks_.ended(epoch_);
  dial_after(retry_ms);  // Its restart may lead again in the same epoch, for all that is known.
}

// Whether the process has ended is decided by the next dial.
void LeaderWatch::on_line_ended(Line* line, bool is_end) {
  (line == former_ ? former_ : line_) = nullptr;
  line->close();
  refusals_ = 0;
  is_closed_ = is_closed_ || is_end;
  uv_timer_stop(&timer_);
  dial();
}

void LeaderWatch::set_reached(std::optional<bool> reached) {
  if (std::exchange(reached_, reached) != reached) hooks_.reached(reached);
}

void LeaderWatch::drop_lines() {
  if (line_ != nullptr) std::exchange(line_, nullptr)->close();
  if (former_ != nullptr) std::exchange(former_, nullptr)->close();
}

void LeaderWatch::close() {
  ++generation_;
  address_.clear();
  drop_lines();
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
}

}  // namespace perennial::perenniald
