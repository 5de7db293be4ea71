// Reserving, waiting for a job, and the connections that do.

#include <algorithm>

#include "engine/engine.h"

namespace perennial::engine {
namespace {

// protocol.txt, "reserve": DEADLINE_SOON is answered in the last second of a reservation.
constexpr Nanos safety_margin = nanos_per_second;

}  // namespace

Conn& Engine::conn_of(ConnId id) {
  const auto found = conns_.find(id);
  CHECK(found != conns_.end());
  return *found->second;
}

void Engine::on_opened(ConnId id) {
  CHECK(id != 0);
  auto conn = std::make_unique<Conn>();
  conn->id = id;
  Tube& tube = tube_of(0);
  ++tube.using_count;
  add_watch(*conn, tube);
  CHECK(conns_.emplace(id, std::move(conn)).second);
  ++connections_;
  ++total_connections_;
}

void Engine::on_half_closed(Conn& conn) {
  conn.half_closed = true;
  if (!conn.waiting) return;
  stop_waiting(conn);
  answer(conn, Word::TimedOut);
}

void Engine::on_closed(Conn& conn) {
  if (conn.waiting) stop_waiting(conn);
  --connections_;
  producers_ -= conn.producer ? 1 : 0;
  workers_ -= conn.worker ? 1 : 0;
  // A kick in progress ends where it is.
  abandon(conn);
  conn.closing = true;
  schedule(conn);
  while (conn.uses_tube && !cost_is_spent()) leave_next_tube(conn);
  if (conn.uses_tube) return leaving_.push_back(conn.id);
  start(conn, GivingBack{{}, &conn});
}

// Those that it watches, then the one that it uses.
void Engine::leave_next_tube(Conn& conn) {
  cost_ += cost::tube_left;
  conn.uses_tube = !conn.watched.empty();
  Tube& tube = tube_of(conn.uses_tube ? conn.watched.leave_next() : conn.used);
  --(conn.uses_tube ? tube.watching_count : tube.using_count);
  end_if_unused(tube);
  if (conn.uses_tube) return;
  watched_bytes_ -= conn.watched.memory_bytes();
  conn.watched = WatchList();
}

void Engine::run(Conn& conn, const Reserve& /*reserve*/) {
  wait_or_reserve(conn, std::nullopt);
}

void Engine::run(Conn& conn, const ReserveWithTimeout& reserve) {
  wait_or_reserve(conn, reserve.timeout_s);
}

void Engine::wait_or_reserve(Conn& conn, std::optional<uint32_t> timeout_s) {
  if (!conn.worker) {
    conn.worker = true;
    ++workers_;
  }
  if (conn.reserved.size() >= limits_.reserved_max) return answer(conn, Word::OutOfMemory);
  // A ready job comes before DEADLINE_SOON: beanstalkd's code, not its protocol.txt.
  if (Job* const job = best_ready(conn)) {
    reserve(conn, *job);
    return answer(conn, JobReply{JobReply::Kind::Reserved, job->id, job->body_bytes});
  }
  if (deadline_soon(conn)) return answer(conn, Word::DeadlineSoon);
  if (conn.half_closed || timeout_s == 0u) return answer(conn, Word::TimedOut);
  std::optional<Nanos> until;
  if (timeout_s) until = now_ + static_cast<Nanos>(*timeout_s) * nanos_per_second;
  start_waiting(conn, until);
}

void Engine::run(Conn& conn, const ReserveJob& command) {
  Job* const job = find_job(command.id);
  if (job == nullptr || job->state == JobState::Reserved) return answer(conn, Word::NotFound);
  if (conn.reserved.size() >= limits_.reserved_max) return answer(conn, Word::OutOfMemory);
  if (!conn.worker) {
    conn.worker = true;
    ++workers_;
  }
  reserve(conn, *job);
  answer(conn, JobReply{JobReply::Kind::Reserved, job->id, job->body_bytes});
}

void Engine::reserve(Conn& conn, Job& job) {
  ++job.reserves;
  job.holder = conn.id;
  const Nanos deadline = now_ + static_cast<Nanos>(job.ttr_s) * nanos_per_second;
  move(job, JobState::Reserved, static_cast<uint64_t>(deadline), false);
}

Job* Engine::best_ready(const Conn& conn) {
  const JobHeap::Entry* best = nullptr;
  cost_ += conn.watched.size() * cost::tube_looked_at;
  for (const WatchLink& link : conn.watched.links()) {
    if (!has_ready_[link.tube]) continue;
    cost_ += cost::ready_tube;
    const JobHeap::Entry& top = tube_of(link.tube).ready.top();
    if (best == nullptr || top.before(*best)) best = &top;
  }
  return best != nullptr ? best->item : nullptr;
}

void Engine::hand_out(Tube& tube) {
  if (!tube.paused() && !tube.ready.empty() && !tube.waiting.empty()) serve(tube);
}

void Engine::serve(Tube& tube) {
  Conn& conn = tube.waiting.longest();
  Job& job = *tube.ready.top().item;
  stop_waiting(conn);
  reserve(conn, job);
  answer(conn, JobReply{JobReply::Kind::Reserved, job.id, job.body_bytes});
}

void Engine::start_waiting(Conn& conn, std::optional<Nanos> until) {
  conn.waiting = true;
  conn.wait_until = until;
  cost_ += conn.watched.size() * cost::tube_waited_on;
  for (WatchLink& link : conn.watched.links()) tube_of(link.tube).waiting.push_back(link);
  ++waiting_;
  schedule(conn);
}

void Engine::stop_waiting(Conn& conn) {
  conn.waiting = false;
  conn.wait_until.reset();
  cost_ += cost::wait_ended + conn.watched.size() * cost::tube_waited_on;
  for (WatchLink& link : conn.watched.links()) tube_of(link.tube).waiting.remove(link);
  --waiting_;
  schedule(conn);
}

bool Engine::deadline_soon(const Conn& conn) const {
  if (conn.reserved.empty()) return false;
  return now_ >= static_cast<Nanos>(conn.reserved.top().key) - safety_margin;
}

void Engine::schedule(Conn& conn) {
  std::optional<Nanos> at;
  if (!conn.closing) {
    if (!conn.reserved.empty()) {
      at = static_cast<Nanos>(conn.reserved.top().key) - (conn.waiting ? safety_margin : 0);
    }
    if (conn.wait_until) at = at ? std::min(*at, *conn.wait_until) : *conn.wait_until;
  }
  const bool listed = conn.deadline_index != not_in_heap;
  if (!at) {
    if (listed) conns_by_deadline_.remove(conn);
    return;
  }
  const auto key = static_cast<uint64_t>(std::max<Nanos>(*at, 0));
  if (listed) return conns_by_deadline_.update(key, conn.id, conn);
  conns_by_deadline_.push(key, conn.id, conn);
}

}  // namespace perennial::engine
