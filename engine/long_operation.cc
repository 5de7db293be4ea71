// The operations that may move many jobs and take several turns: kick, the end of a connection,
// delays and reservations that are over.

#include "engine/long_operation.h"

#include <algorithm>
#include <utility>

#include "engine/state.h"

namespace perennial::engine {

// Returns whether the operation is done. next() is called before the bound is checked, so that an
// operation whose last step ends the turn is done and needs no further turn.
template <typename Operation>
bool State::advance(Operation& operation) {
  if (!operation.begun) operation.begun = begin(operation);
  if (!operation.begun) return false;
  operation.interrupted = false;
  while (Job* const job = next(operation)) {
    if (turn_.is_over() && !operation.whole) {
      suspend(operation);
      return false;
    }
    step(operation, *job);
  }
  return !operation.interrupted;
}

void State::go_on(Conn& conn) {
  // finish() may delete the connection, so `conn` is not used after it.
  const auto done = [&](auto& operation) {
    if (!advance(operation)) return left_over_.push_back(conn.id);
    finish(operation);
  };
  std::visit(done, *conn.operation);
}

void State::start(Conn& conn, LongOperation operation) {
  conn.operation = std::move(operation);
  go_on(conn);
}

void State::give_back_later(Conn& conn) {
  conn.operation = GivingBack{{}, &conn, conn.attempts_count};
  left_over_.push_back(conn.id);
}

void State::abandon(Conn& conn) {
  if (!conn.operation) return;
  if (const auto* const kick = std::get_if<Kicking>(&*conn.operation)) release_split(*kick);
  std::erase(left_over_, conn.id);
  conn.operation.reset();
}

// ---- kick.

void State::run(Conn& conn, const Kick& kick) {
  start(conn, Kicking{{}, &conn, kick.bound});
}

// protocol.txt, "kick": if there are any buried jobs it only kicks buried jobs, otherwise delayed
// ones. A kick moves no job that was buried or delayed after it began. When several kicks of one
// tube's delayed jobs take several turns, each waits for those before it.
bool State::begin(Kicking& kick) {
  Tube& tube = tube_of(kick.conn->used);
  kick.buried = !tube.buried.empty();
  const size_t count = kick.buried ? tube.buried.size() : tube.delayed.size();
  kick.remaining = static_cast<uint32_t>(std::min<size_t>(kick.remaining, count));
  kick.order_end = next_bury_order_;
  if (kick.buried || tube.delayed.may_split()) return true;
  // Only waiting connections could make this kick cost more than one transition for each job.
  kick.whole = tube.waiting.empty() && turn_.has_place_for(kick.remaining);
  if (kick.whole) return true;
  if (tube.delayed.is_split()) return false;
  // A job that is joined counts as a transition, so that the bound of a turn limits this loop, too.
  for (; !tube.delayed.is_joined(); turn_.count_transition()) {
    if (turn_.is_over()) return false;
    tube.delayed.join_one();
  }
  return true;
}

Job* State::next(const Kicking& kick) {
  if (kick.remaining == 0) return nullptr;
  Tube& tube = tube_of(kick.conn->used);
  if (kick.is_splitting) return tube.delayed.first_of_before();
  if (!kick.buried) return tube.delayed.empty() ? nullptr : tube.delayed.top().item;
  if (tube.buried.empty()) return nullptr;
  Job* const job = tube.buried.top().item;
  // A job at or above the end was buried after the kick began, perhaps after this kick had moved
  // it.
  return job->order < kick.order_end ? job : nullptr;
}

void State::step(Kicking& kick, Job& job) {
  kicked(job);
  ++kick.kicked;
  --kick.remaining;
  move_to_ready(job, true);
}

void State::suspend(Kicking& kick) {
  if (kick.buried || kick.is_splitting) return;
  tube_of(kick.conn->used).delayed.split();
  kick.is_splitting = true;
}

void State::finish(const Kicking& kick) {
  Conn& conn = *kick.conn;
  answer(conn, NumberReply{Word::KickedCount, kick.kicked});
  release_split(kick);
  conn.operation.reset();
}

void State::release_split(const Kicking& kick) {
  if (kick.is_splitting) tube_of(kick.conn->used).delayed.end_split();
}

// ---- flush-tube, move-tube and kick-tube.

template <typename Operation, typename C>
Operation State::walk_of(Conn& conn, const std::string& tube, StateSet states,
                         const C& command) const {
  Operation walk;
  walk.conn = &conn;
  walk.tube = tube;
  walk.states = states;
  walk.match = command.match;
  walk.asked_at = turn_.now();
  return walk;
}

void State::run(Conn& conn, const FlushTube& flush) {
  const bool is_there = find_tube(flush.tube) != nullptr || keys_.any_that_expires(flush.tube);
  if (!is_there) return answer(conn, Word::NotFound);
  auto flushing =
      walk_of<Flushing>(conn, flush.tube, flush.states.value_or(StateSet::all()), flush);
  flushing.ends_cooldowns = !flush.states && !flush.match.is_set();
  start(conn, std::move(flushing));
}

void State::run(Conn& conn, const KickTube& kick) {
  if (find_tube(kick.tube) == nullptr) return answer(conn, Word::NotFound);
  start(conn, walk_of<KickingTube>(conn, kick.tube, kick.states, kick));
}

void State::run(Conn& conn, const MoveTube& move) {
  if (find_tube(move.from) == nullptr) return answer(conn, Word::NotFound);
  const bool has_tube = find_tube(move.to) != nullptr || tube_list_.size() < limits_.tubes_max;
  if (!has_tube) return answer(conn, Word::OutOfMemory);
  Moving moving = walk_of<Moving>(conn, move.from, move.states, move);
  moving.to = move.to;
  moving.remaining = move.count.value;
  start(conn, std::move(moving));
}

bool State::begin(Flushing& flush) {
  flush.end_id = next_id_;
  return true;
}

bool State::begin(Moving& move) {
  move.end_id = next_id_;
  return true;
}

bool State::begin(KickingTube& kick) {
  kick.end_id = next_id_;
  return true;
}

bool State::is_matched(const Job& job, const JobMatch& match, Nanos now) {
  const auto age = static_cast<uint64_t>(std::max<Nanos>(now - job.created, 0) / nanos_per_second);
  return match.of(JobNumber::Age).admits(age) &&
         match.of(JobNumber::Priority).admits(job.priority) &&
         match.of(JobNumber::Reserves).admits(job.reserves) &&
         match.of(JobNumber::Timeouts).admits(job.timeouts);
}

bool State::has_any(const Tube& tube, StateSet states) {
  return (states.holds(JobState::Ready) && tube.ready_count() > 0) ||
         (states.holds(JobState::Reserved) && !tube.reserved.empty()) ||
         (states.holds(JobState::Delayed) && !tube.delayed.empty()) ||
         (states.holds(JobState::Buried) && !tube.buried.empty());
}

// The tube's own heaps are not used: they are not in the order of ids, so jobs that were put after
// the walk began could not be told from the others without looking at each of them again and again.
Job* State::next(Walk& walk) {
  const Tube* const tube = find_tube(walk.tube);
  if (tube == nullptr || !has_any(*tube, walk.states)) return nullptr;
  for (;;) {
    const auto entry = jobs_.first_from(walk.next_id);
    if (entry.value == nullptr || entry.id >= walk.end_id) return nullptr;
    Job& job = **entry.value;
    const bool is_wanted = job.tube == tube->id && walk.states.holds(job.state) &&
                           is_matched(job, walk.match, walk.asked_at);
    if (is_wanted) return &job;
    if (turn_.is_over()) {
      walk.interrupted = true;
      return nullptr;
    }
    turn_.spend(cost::job_looked_at);
    walk.next_id = entry.id + 1;
  }
}

// After the jobs the cooldowns of the tube end, unless only some jobs are flushed.
Job* State::next(Flushing& flush) {
  Job* const job = next(static_cast<Walk&>(flush));
  if (job != nullptr || flush.interrupted || !flush.ends_cooldowns) return job;
  while (const auto name = keys_.any_that_expires(flush.tube)) {
    flush.interrupted = turn_.is_over();
    if (flush.interrupted) break;
    free_key(name->tube, name->key);
  }
  return nullptr;
}

void State::step(Flushing& flush, Job& job) {
  Tube& tube = tube_of(job.tube);
  flush.next_id = job.id + 1;
  ++flush.flushed;
  ++tube.cmd_delete;
  end_run(job, RunEnd::Deleted);
  remove(job, KeyEnd::Free, true);
  end_if_unused(tube);
  // The deletion of a row and a body costs the disk as much as two moves.
  turn_.count_transition();
}

void State::finish(const Flushing& flush) {
  Conn& conn = *flush.conn;
  answer(conn, NumberReply{Word::Flushed, flush.flushed});
  conn.operation.reset();
}

Job* State::next(Moving& move) {
  return move.remaining > 0 ? next(static_cast<Walk&>(move)) : nullptr;
}

void State::step(Moving& move, Job& job) {
  move.next_id = job.id + 1;
  // It is made for the first job, and may end between two turns.
  Tube* const to = find_or_make_tube(move.to);
  if (to == nullptr) {
    move.remaining = 0;
    return;
  }
  Tube& from = tube_of(job.tube);
  store_tube(*to);
  ++move.moved;
  --move.remaining;
  if (JobFields* const fields = fields_of(job)) {
    // The job begins anew, as after a kick. Otherwise one that has expired while it was buried
    // would be deleted at once.
    if (const Nanos expires_at = expiry_of(job)) expiries_.erase({expires_at, job.id});
    fields->attempts = 0;
    fields->expires_at = 0;
    drop_empty_fields(job);
  }
  end_run(job, RunEnd::Released);
  move_to_tube(job, *to, true);
  end_if_unused(from);
  hand_out(*to);
}

void State::finish(const Moving& move) {
  Conn& conn = *move.conn;
  answer(conn, NumberReply{Word::Moved, move.moved});
  conn.operation.reset();
}

Job* State::next(KickingTube& kick) {
  return next(static_cast<Walk&>(kick));
}

// A job that is buried or delayed again is behind the walk, so none is kicked twice.
void State::step(KickingTube& kick, Job& job) {
  kick.next_id = job.id + 1;
  ++kick.kicked;
  kicked(job);
  move_to_ready(job, true);
}

void State::finish(const KickingTube& kick) {
  Conn& conn = *kick.conn;
  answer(conn, NumberReply{Word::KickedCount, kick.kicked});
  conn.operation.reset();
}

// ---- The end of a connection. protocol.txt, "reserve". No counter of the job counts it.

Job* State::next(const GivingBack& closed) {
  return closed.conn->reserved.empty() ? nullptr : closed.conn->reserved.top().item;
}

void State::step(const GivingBack& closed, Job& job) {
  end_run(job, RunEnd::Closed);
  give_back(job, end_attempt(job, closed.counts, 0), false);
}

void State::finish(const GivingBack& closed) {
  conns_.erase(closed.conn->id);
}

// ---- Time. What is left over is due at once, because its deadline has passed.

void State::tick_delayed() {
  EndingDelays delays;
  advance(delays);
}

void State::tick_expiries() {
  Expiring jobs;
  advance(jobs);
}

Job* State::next(const EndingDelays& /*delays*/) {
  if (tubes_by_delay_.empty()) return nullptr;
  const auto& soonest = tubes_by_delay_.top();
  return static_cast<Nanos>(soonest.key) > turn_.now() ? nullptr : soonest.item->delayed.top().item;
}

void State::step(const EndingDelays& /*delays*/, Job& job) {
  move_to_ready(job, false);
}

void State::time_out(Conn& conn) {
  TimingOut reservations{{}, &conn};
  advance(reservations);
}

Job* State::next(const TimingOut& reservations) {
  const JobHeap& reserved = reservations.conn->reserved;
  if (reserved.empty()) return nullptr;
  Job* const job = reserved.top().item;
  return static_cast<Nanos>(job->order) > turn_.now() ? nullptr : job;
}

void State::step(const TimingOut& /*reservations*/, Job& job) {
  ++job.timeouts;
  ++job_timeouts_;
  ++tube_of(job.tube).timeouts;
  end_run(job, RunEnd::Timeout);
  give_back(job, end_attempt(job, true, 0), false);
}

void State::tick_left_over() {
  // go_on() appends a connection again whose operation is not done.
  for (const ConnId id : std::exchange(left_over_, {})) go_on(conn_of(id));
}

}  // namespace perennial::engine
