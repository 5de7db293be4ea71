// What may move many jobs, over as many turns as it takes: kick, the end of a connection, and what
// time does.

#include "engine/long_operation.h"

#include <algorithm>
#include <utility>

#include "engine/engine.h"

namespace perennial::engine {

// Whether it is done.
template <typename Operation>
bool Engine::advance(Operation& operation) {
  if (!operation.begun) operation.begun = begin(operation);
  if (!operation.begun) return false;
  while (Job* const job = next(operation)) {
    if (turn_is_over() && !operation.whole) {
      suspend(operation);
      return false;
    }
    step(operation, *job);
  }
  return true;
}

void Engine::go_on(Conn& conn) {
  // The connection may be gone when the operation is.
  const auto done = [&](auto& operation) {
    if (!advance(operation)) return left_over_.push_back(conn.id);
    finish(operation);
  };
  std::visit(done, *conn.operation);
}

void Engine::start(Conn& conn, LongOperation operation) {
  conn.operation = operation;
  go_on(conn);
}

void Engine::give_back_later(Conn& conn) {
  conn.operation = GivingBack{{}, &conn};
  left_over_.push_back(conn.id);
}

void Engine::abandon(Conn& conn) {
  if (!conn.operation) return;
  if (const auto* const kick = std::get_if<Kicking>(&*conn.operation)) release_split(*kick);
  std::erase(left_over_, conn.id);
  conn.operation.reset();
}

// ---- kick.

void Engine::run(Conn& conn, const Kick& kick) {
  start(conn, Kicking{{}, &conn, kick.bound});
}

// protocol.txt, "kick": if there are any buried jobs it only kicks buried jobs, otherwise delayed
// ones. It kicks none that joined them after it began. Of the kicks of one tube's delayed jobs that
// take several turns, each waits for those before it.
bool Engine::begin(Kicking& kick) {
  Tube& tube = tube_of(kick.conn->used);
  kick.buried = !tube.buried.empty();
  const size_t count = kick.buried ? tube.buried.size() : tube.delayed.size();
  kick.remaining = static_cast<uint32_t>(std::min<size_t>(kick.remaining, count));
  kick.order_end = next_bury_order_;
  if (kick.buried || tube.delayed.may_split()) return true;
  // What could make it longer than its moves are connections that wait.
  kick.whole = tube.waiting.empty() && moves_ + kick.remaining <= limits_.moves_per_turn_max;
  if (kick.whole) return true;
  if (tube.delayed.is_split()) return false;
  for (; !tube.delayed.is_joined(); ++moves_) {
    if (turn_is_over()) return false;
    tube.delayed.join_one();
  }
  return true;
}

Job* Engine::next(const Kicking& kick) {
  if (kick.remaining == 0) return nullptr;
  Tube& tube = tube_of(kick.conn->used);
  if (kick.is_splitting) return tube.delayed.first_of_before();
  if (!kick.buried) return tube.delayed.empty() ? nullptr : tube.delayed.top().item;
  if (tube.buried.empty()) return nullptr;
  Job* const job = tube.buried.top().item;
  return job->order < kick.order_end ? job : nullptr;  // Or kicked, and buried again meanwhile.
}

void Engine::step(Kicking& kick, Job& job) {
  ++job.kicks;
  ++kick.kicked;
  --kick.remaining;
  move_to_ready(job, true);
}

void Engine::suspend(Kicking& kick) {
  if (kick.buried || kick.is_splitting) return;
  tube_of(kick.conn->used).delayed.split();
  kick.is_splitting = true;
}

void Engine::finish(const Kicking& kick) {
  Conn& conn = *kick.conn;
  answer(conn, KickedCount{kick.kicked});
  release_split(kick);
  conn.operation.reset();
}

void Engine::release_split(const Kicking& kick) {
  if (kick.is_splitting) tube_of(kick.conn->used).delayed.end_split();
}

// ---- The end of a connection. protocol.txt, "reserve"; no counter of the job tells of it.

Job* Engine::next(const GivingBack& closed) {
  return closed.conn->reserved.empty() ? nullptr : closed.conn->reserved.top().item;
}

void Engine::step(const GivingBack& /*closed*/, Job& job) {
  move_to_ready(job, false);
}

void Engine::finish(const GivingBack& closed) {
  conns_.erase(closed.conn->id);
}

// ---- Time. What is left over is due at once, because its deadline has passed.

void Engine::tick_delayed() {
  EndingDelays delays;
  advance(delays);
}

Job* Engine::next(const EndingDelays& /*delays*/) {
  if (tubes_by_delay_.empty()) return nullptr;
  const auto& soonest = tubes_by_delay_.top();
  return static_cast<Nanos>(soonest.key) > now_ ? nullptr : soonest.item->delayed.top().item;
}

void Engine::step(const EndingDelays& /*delays*/, Job& job) {
  move_to_ready(job, false);
}

void Engine::time_out(Conn& conn) {
  TimingOut reservations{{}, &conn};
  advance(reservations);
}

Job* Engine::next(const TimingOut& reservations) {
  const JobHeap& reserved = reservations.conn->reserved;
  if (reserved.empty()) return nullptr;
  Job* const job = reserved.top().item;
  return static_cast<Nanos>(job->order) > now_ ? nullptr : job;
}

void Engine::step(const TimingOut& /*reservations*/, Job& job) {
  ++job.timeouts;
  ++job_timeouts_;
  move_to_ready(job, false);
}

void Engine::tick_left_over() {
  // Each of them puts itself back if it does not come to its end.
  for (const ConnId id : std::exchange(left_over_, {})) go_on(conn_of(id));
}

}  // namespace perennial::engine
