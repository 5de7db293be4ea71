#include "cmd/perenniald/net/handshakes.h"

#include <algorithm>
#include <utility>

#include "engine/types/check.h"
#include "engine/types/later.h"

namespace perennial::perenniald {
namespace {

// How exact the limit is: with many clients the timer would fire for each of them.
constexpr Nanos timer_step = 100 * nanos_per_ms;

}  // namespace

Handshakes::Handshakes(uv_loop_t& loop, TurnClock& clock, const HandshakeLimits& limits,
                       Hooks hooks)
    : clock_(clock),
      limits_(limits),
      hooks_(std::move(hooks)),
      timer_(new uv_timer_t),
      pending_({.connections_max = limits.pending_max,
                .per_address_max = limits.per_address_max,
                .must_stay = [this](ConnId conn) { return !hooks_.is_silent(conn); }}) {
  CHECK(uv_timer_init(&loop, timer_) == 0);
  timer_->data = this;
}

Handshakes::~Handshakes() {
  close();
}

void Handshakes::begin(ConnId conn, const std::string& address) {
  const std::optional<ConnId> gives_way = pending_.add(conn, address);
  const Nanos time_max = static_cast<Nanos>(limits_.ms_max) * nanos_per_ms;
  deadlines_.push_back({.conn = conn, .at = later(clock_.now(), time_max)});
  if (deadlines_.size() == 1) arm();
  if (gives_way) hooks_.gives_way(*gives_way);
}

void Handshakes::on_progress(ConnId conn, const std::string& address) {
  pending_.renew(conn, address);
}

void Handshakes::end(ConnId conn) {
  CHECK(pending_.holds(conn));
  pending_.remove(conn);
  waiting_.remove(conn);
}

bool Handshakes::may_go_on(ConnId conn, const std::string& address) {
  if (waiting_.empty() && has_steps()) {
    ++steps_;
    return true;
  }
  if (!waiting_.holds(conn)) waiting_.add(conn, address);
  return false;
}

std::optional<ConnId> Handshakes::next() {
  if (waiting_.empty() || !has_steps()) return std::nullopt;
  ++steps_;
  return waiting_.take();
}

// Whether one more may make progress in this turn.
bool Handshakes::has_steps() {
  if (std::exchange(turn_, clock_.now()) != clock_.now()) steps_ = 0;
  const Nanos time = clock_.turn_so_far();
  if (steps_ == 0) steps_since_ = time;
  const Nanos time_max = std::max(limits_.turn_time_max, clock_.last_turn() / 4);
  return steps_ == 0 || (steps_ < limits_.per_turn_max && time - steps_since_ < time_max);
}

void Handshakes::arm() {
  const Nanos left = std::max(timer_step, deadlines_.front().at - clock_.now());
  const auto fired = [](uv_timer_t* timer) { static_cast<Handshakes*>(timer->data)->on_timer(); };
  CHECK(uv_timer_start(timer_, fired, static_cast<uint64_t>(left / nanos_per_ms), 0) == 0);
}

void Handshakes::on_timer() {
  while (!deadlines_.empty() && deadlines_.front().at <= clock_.now()) {
    const ConnId conn = deadlines_.front().conn;
    deadlines_.pop_front();
    hooks_.expired(conn);
  }
  if (!deadlines_.empty()) arm();
}

void Handshakes::close() {
  if (timer_ == nullptr) return;
  const auto free_timer = [](uv_handle_t* timer) { delete reinterpret_cast<uv_timer_t*>(timer); };
  uv_close(reinterpret_cast<uv_handle_t*>(std::exchange(timer_, nullptr)), free_timer);
}

}  // namespace perennial::perenniald
