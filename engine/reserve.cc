// Reserving, waiting for a job, and the start and end of connections.

#include <algorithm>

#include "engine/state.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// protocol.txt, "reserve": DEADLINE_SOON is answered in the last second of a reservation.
constexpr Nanos safety_margin = nanos_per_second;

// The facts that a reservation asks for.
JobFacts facts_of(const auto& reserve) {
  return reserve.options ? reserve.options->with : JobFacts();
}

}  // namespace

Conn& State::conn_of(ConnId id) {
  const auto found = conns_.find(id);
  CHECK(found != conns_.end());
  return *found->second;
}

void State::on_opened(ConnId id, const Opened& opened) {
  CHECK(id != 0);
  auto conn = std::make_unique<Conn>();
  conn->id = id;
  conn->is_internal = opened.is_internal;
  Tube& tube = tube_of(0);
  ++tube.using_count;
  add_watch(*conn, tube);
  CHECK(conns_.emplace(id, std::move(conn)).second);
  if (opened.is_internal) return;
  ++connections_;
  ++total_connections_;
}

void State::on_half_closed(Conn& conn) {
  conn.half_closed = true;
  if (conn.waiting) end_wait(conn);
}

// A job may have ended the wait just before.
void State::on_wait_aborted(Conn& conn) {
  if (conn.waiting) end_wait(conn);
}

void State::end_wait(Conn& conn) {
  const bool is_batch = conn.wait_batch > 0;
  stop_waiting(conn);
  answer_no_job(conn, is_batch);
}

void State::answer_no_job(const Conn& conn, bool is_batch) {
  if (is_batch) return answer(conn, std::make_unique<JobsReserved>());
  answer(conn, Word::TimedOut);
}

void State::on_closed(Conn& conn, const Closed& closed) {
  if (conn.waiting) stop_waiting(conn);
  if (!conn.is_internal) --connections_;
  producers_ -= conn.producer ? 1 : 0;
  workers_ -= conn.worker ? 1 : 0;
  // A kick that is in progress ends where it is.
  abandon(conn);
  conn.closing = true;
  conn.attempts_count = !closed.after_quit;
  schedule(conn);
  while (conn.uses_tube && !turn_.cost_is_spent()) leave_next_tube(conn);
  if (conn.uses_tube) return leaving_.push_back(conn.id);
  start(conn, GivingBack{{}, &conn, conn.attempts_count});
}

// A connection leaves the tubes that it watches, and then the tube that it uses.
void State::leave_next_tube(Conn& conn) {
  turn_.spend(cost::tube_left);
  conn.uses_tube = !conn.watched.empty();
  Tube& tube = tube_of(conn.uses_tube ? conn.watched.leave_next() : conn.used);
  --(conn.uses_tube ? tube.watching_count : tube.using_count);
  end_if_unused(tube);
  if (conn.uses_tube) return;
  watched_bytes_ -= conn.watched.memory_bytes();
  conn.watched = WatchList();
}

void State::run(Conn& conn, const Reserve& reserve) {
  wait_or_reserve(conn, {.timeout = {}, .with = facts_of(reserve)});
}

void State::run(Conn& conn, const ReserveWithTimeout& reserve) {
  const Nanos timeout =
      static_cast<Nanos>(reserve.timeout_s) * nanos_per_second + reserve.timeout_rest_ns;
  wait_or_reserve(conn, {.timeout = timeout, .with = facts_of(reserve)});
}

void State::run(Conn& conn, const ReserveBatch& reserve) {
  wait_or_reserve(conn, {.timeout = reserve.wait.nanos,
                         .with = facts_of(reserve),
                         .batch = static_cast<uint32_t>(reserve.count.value)});
}

void State::wait_or_reserve(Conn& conn, const Wait& wait) {
  make_worker(conn);
  if (conn.reserved.size() >= limits_.reserved_max) return answer(conn, Word::OutOfMemory);
  // A ready job comes before DEADLINE_SOON. beanstalkd's code does so, and its protocol.txt says
  // otherwise.
  if (wait.batch > 0) {
    auto batch = reserve_batch(conn, wait.batch, wait.with);
    if (!batch->jobs.empty()) return answer(conn, std::move(batch));
  } else if (Job* const job = best_ready(conn)) {
    count_share(conn, job->tube);
    reserve(conn, *job);
    return answer(conn, job_reply(Word::Reserved, *job, wait.with));
  }
  if (deadline_soon(conn)) return answer(conn, Word::DeadlineSoon);
  if (conn.half_closed || wait.timeout == 0) return answer_no_job(conn, wait.batch > 0);
  start_waiting(conn, wait);
}

void State::run(Conn& conn, const ReserveJob& command) {
  Job* const job = find_job(command.id);
  const bool is_free = job != nullptr && job->state != JobState::Reserved;
  if (!is_free || has_expired(*job) || is_parked(*job)) {
    return answer(conn, Word::NotFound);
  }
  if (conn.reserved.size() >= limits_.reserved_max) return answer(conn, Word::OutOfMemory);
  make_worker(conn);
  reserve(conn, *job);
  answer(conn, job_reply(Word::Reserved, *job, command.with));
}

// A job that has expired may still be there until its Tick, if very many expire at once.
bool State::has_expired(const Job& job) const {
  const Nanos expires_at = expiry_of(job);
  return expires_at > 0 && expires_at <= turn_.now();
}

void State::reserve(Conn& conn, Job& job) {
  ++job.reserves;
  ++job_ends_.reserved;
  if (job.state == JobState::Ready) {
    const Nanos waited = turn_.now() - static_cast<Nanos>(job.order);
    work_times_.wait.record_time(waited);
    if (TubeTimes* const times = tube_of(job.tube).times) times->wait.record_time(waited);
  }
  give_up_key(job);
  // The holder is set inside: the job leaves the heap of its former state first.
  change(job, false, [&] {
    job.place.holder = conn.id;
    job.state = JobState::Reserved;
    job.order = static_cast<uint64_t>(later(turn_.now(), ttr_of(job)));
  });
  if (tube_of(job.tube).settings) take_from_rate(tube_of(job.tube));
}

Job* State::best_ready(Conn& conn) {
  Choice best;
  turn_.spend(conn.watched.size() * cost::tube_checked);
  if (conn.mode == ReserveMode::Weighted) begin_choice(conn, nullptr);
  for (const WatchLink& link : conn.watched.links()) {
    if (!has_ready_[link.tube]) continue;
    turn_.spend(cost::ready_tube);
    const Choice next = {&tube_of(link.tube), 0};
    if (best.tube == nullptr || comes_before(conn, next, best)) best = next;
  }
  return best.tube != nullptr ? best.tube->ready.top().item : nullptr;
}

bool State::comes_before(const Conn& conn, const Choice& one, const Choice& other) {
  if (conn.mode == ReserveMode::Fifo) return one.tube->ready.top().before(other.tube->ready.top());
  const uint64_t pass = conn.watched.weights().pass_of(one.tube->id);
  const uint64_t other_pass = conn.watched.weights().pass_of(other.tube->id);
  return pass != other_pass ? pass < other_pass : one.place < other.place;
}

void State::begin_choice(Conn& conn, const Tube* served) {
  std::vector<TubeId> tubes;
  for (const WatchLink& link : conn.watched.links()) {
    if (has_ready_[link.tube] || (served != nullptr && served->id == link.tube)) {
      tubes.push_back(link.tube);
    }
  }
  turn_.spend(conn.watched.size() * cost::tube_checked + tubes.size() * cost::ready_tube);
  const size_t before = conn.watched.memory_bytes();
  conn.watched.weights().begin(tubes);
  watched_bytes_ += conn.watched.memory_bytes() - before;
}

void State::count_share(Conn& conn, TubeId tube) {
  if (conn.mode == ReserveMode::Fifo) return;
  const size_t before = conn.watched.memory_bytes();
  conn.watched.weights().serve(tube);
  watched_bytes_ += conn.watched.memory_bytes() - before;
}

void State::hand_out(Tube& tube) {
  while (!tube.paused() && tube.has_servable() && !tube.waiting.empty()) serve(tube);
}

void State::serve(Tube& tube) {
  Conn& conn = tube.waiting.longest();
  Job& job = *tube.ready.top().item;
  const JobFacts with = conn.wait_with;
  const uint32_t batch = conn.wait_batch;
  stop_waiting(conn);
  if (batch > 0) return answer(conn, reserve_batch(conn, batch, with, &tube));
  count_share(conn, tube.id);
  reserve(conn, job);
  answer(conn, job_reply(Word::Reserved, job, with));
}

// Reserves up to `count` ready jobs of the watched tubes, the best first. Each tube is looked at
// once, and the tubes with a ready job are a heap by their best job.
std::unique_ptr<JobsReserved> State::reserve_batch(Conn& conn, uint32_t count, const JobFacts& with,
                                                   const Tube* served) {
  constexpr uint64_t head_bytes = 64;
  auto batch = std::make_unique<JobsReserved>();
  std::vector<Choice> tubes;
  turn_.spend(conn.watched.size() * cost::tube_checked);
  if (conn.mode == ReserveMode::Weighted) begin_choice(conn, served);
  for (const WatchLink& link : conn.watched.links()) {
    const bool is_served = served != nullptr && served->id == link.tube;
    if (!has_ready_[link.tube] && !is_served) continue;
    tubes.push_back({&tube_of(link.tube), static_cast<uint32_t>(tubes.size())});
  }
  turn_.spend(tubes.size() * cost::ready_tube);
  const auto after = [&conn](const Choice& a, const Choice& b) { return comes_before(conn, b, a); };
  std::make_heap(tubes.begin(), tubes.end(), after);
  uint64_t bytes = 0;
  while (!tubes.empty() && batch->jobs.size() < count &&
         conn.reserved.size() < limits_.reserved_max) {
    std::pop_heap(tubes.begin(), tubes.end(), after);
    Tube& tube = *tubes.back().tube;
    Job& job = *tube.ready.top().item;
    bytes += job.body_bytes + head_bytes;
    if (!batch->jobs.empty() && bytes > limits_.batch_reply_bytes_max) break;
    count_share(conn, tube.id);
    reserve(conn, job);
    batch->jobs.push_back(job_reply(Word::Reserved, job, with));
    if (!tube.has_servable()) {
      tubes.pop_back();
    } else {
      std::push_heap(tubes.begin(), tubes.end(), after);
    }
  }
  return batch;
}

void State::start_waiting(Conn& conn, const Wait& wait) {
  CHECK(!conn.waiting);
  conn.waiting = true;
  conn.wait_until.reset();
  if (wait.timeout) conn.wait_until = later(turn_.now(), *wait.timeout);
  conn.wait_with = wait.with;
  conn.wait_batch = wait.batch;
  turn_.spend(conn.watched.size() * cost::tube_waited_on);
  for (WatchLink& link : conn.watched.links()) tube_of(link.tube).waiting.push_back(link);
  ++waiting_;
  schedule(conn);
}

void State::stop_waiting(Conn& conn) {
  conn.waiting = false;
  conn.wait_until.reset();
  turn_.spend(cost::wait_ended + conn.watched.size() * cost::tube_waited_on);
  for (WatchLink& link : conn.watched.links()) tube_of(link.tube).waiting.remove(link);
  --waiting_;
  schedule(conn);
}

bool State::deadline_soon(const Conn& conn) const {
  if (conn.reserved.empty()) return false;
  const JobHeap::Entry& first = conn.reserved.top();
  return turn_.now() >= static_cast<Nanos>(first.key) - deadline_margin(ttr_of(*first.item));
}

// A second, as in beanstalkd. A ttr that is not of whole seconds may be shorter than that.
Nanos State::deadline_margin(Nanos ttr) {
  return ttr % nanos_per_second == 0 ? safety_margin : std::min(safety_margin, ttr / 2);
}

// The order of conn.reserved gives the first reservation that ends. Its deadline comes earlier for
// a connection that waits, by deadline_margin(), because DEADLINE_SOON is due then. A closing
// connection has no deadline: its reservations are given back by a long operation.
void State::schedule(Conn& conn) {
  std::optional<Nanos> at;
  if (!conn.closing) {
    if (!conn.reserved.empty()) {
      const JobHeap::Entry& first = conn.reserved.top();
      at = static_cast<Nanos>(first.key);
      if (conn.waiting) *at -= deadline_margin(ttr_of(*first.item));
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
