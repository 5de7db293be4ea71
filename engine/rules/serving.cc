#include "engine/rules/serving.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/rules/keys.h"
#include "engine/statistics/stats.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// A tube with a job that may be reserved, and its place among the watched tubes.
struct Choice {
  Tube* tube = nullptr;
  uint32_t place = 0;
};

// Whether the connection is to be served from `one`, and not from `other`.
bool comes_before(const Conn& conn, const Choice& one, const Choice& other) {
  if (conn.mode == ReserveMode::Fifo) {
    return one.tube->ready->top().before(other.tube->ready->top());
  }
  const uint64_t pass = conn.watched.weights().pass_of(one.tube->id);
  const uint64_t other_pass = conn.watched.weights().pass_of(other.tube->id);
  return pass != other_pass ? pass < other_pass : one.place < other.place;
}

// Called before a choice by weight. `served`: as in reserve_batch().
void begin_choice(State& state, Conn& conn, const Tube* served) {
  std::vector<TubeId> tubes;
  for (const WatchLink& link : conn.watched.links()) {
    if (state.tubes.has_ready(link.tube) || (served != nullptr && served->id == link.tube)) {
      tubes.push_back(link.tube);
    }
  }
  state.turn.spend(conn.watched.size() * cost::tube_checked + tubes.size() * cost::ready_tube);
  state.conns.begin_choice(conn, tubes);
}

// Returns the job that the connection may reserve next, or null.
Job* best_ready(State& state, Conn& conn) {
  Choice best;
  state.turn.spend(conn.watched.size() * cost::tube_checked);
  if (conn.mode == ReserveMode::Weighted) begin_choice(state, conn, nullptr);
  for (const WatchLink& link : conn.watched.links()) {
    if (!state.tubes.has_ready(link.tube)) continue;
    state.turn.spend(cost::ready_tube);
    const Choice next = {&state.tubes.of(link.tube), 0};
    if (best.tube == nullptr || comes_before(conn, next, best)) best = next;
  }
  return best.tube != nullptr ? best.tube->ready->top().item : nullptr;
}

}  // namespace

void reserve(State& state, Conn& conn, Job& job) {
  const Nanos now = state.turn.now();
  Tube& tube = state.tube_of(job);
  ++job.reserves;
  state.count(job, &JobEnds::reserved);
  if (job.state == JobState::Ready) {
    const Nanos waited = now - static_cast<Nanos>(job.order);
    state.counters.work_times.wait.record_time(waited);
    if (tube.times != nullptr) tube.times->wait.record_time(waited);
  }
  give_up_key(state, job);
  // The holder is set inside: the job leaves the heap of its former state first.
  state.jobs.change(job, false, [&] {
    job.place.holder = conn.id;
    job.state = JobState::Reserved;
    job.order = static_cast<uint64_t>(later(now, state.fields.ttr_of(job)));
    const bool is_first = job.reserves == 1;
    if (is_first && state.turn.keeps_ended(tube.settings)) {
      state.fields.make(job).first_reserved = now;
    }
  });
  state.tubes.take_token(tube);
}

Job* reserve_best(State& state, Conn& conn) {
  Job* const job = best_ready(state, conn);
  if (job == nullptr) return nullptr;
  state.conns.count_share(conn, job->tube);
  reserve(state, conn, *job);
  return job;
}

// Each tube is looked at once, and the tubes with a ready job are a heap by their best job.
std::unique_ptr<JobsReserved> reserve_batch(State& state, Conn& conn, uint32_t count,
                                            const JobFacts& with, const Tube* served) {
  constexpr uint64_t head_bytes = 64;
  auto batch = std::make_unique<JobsReserved>();
  std::vector<Choice> tubes;
  state.turn.spend(conn.watched.size() * cost::tube_checked);
  if (conn.mode == ReserveMode::Weighted) begin_choice(state, conn, served);
  for (const WatchLink& link : conn.watched.links()) {
    const bool is_served = served != nullptr && served->id == link.tube;
    if (!state.tubes.has_ready(link.tube) && !is_served) continue;
    tubes.push_back({&state.tubes.of(link.tube), static_cast<uint32_t>(tubes.size())});
  }
  state.turn.spend(tubes.size() * cost::ready_tube);
  const auto after = [&conn](const Choice& a, const Choice& b) { return comes_before(conn, b, a); };
  std::make_heap(tubes.begin(), tubes.end(), after);
  uint64_t bytes = 0;
  while (!tubes.empty() && batch->jobs.size() < count &&
         conn.reserved->size() < state.limits.reserved_max) {
    std::pop_heap(tubes.begin(), tubes.end(), after);
    Tube& tube = *tubes.back().tube;
    Job& job = *tube.ready->top().item;
    bytes += job.body_bytes + head_bytes;
    if (!batch->jobs.empty() && bytes > state.limits.batch_reply_bytes_max) break;
    state.conns.count_share(conn, tube.id);
    reserve(state, conn, job);
    batch->jobs.push_back(job_reply(state, Word::Reserved, job, with));
    if (!tube.has_servable()) {
      tubes.pop_back();
    } else {
      std::push_heap(tubes.begin(), tubes.end(), after);
    }
  }
  return batch;
}

void serve(State& state, Tube& tube) {
  Conn& conn = tube.waiting.longest();
  Job& job = *tube.ready->top().item;
  const JobFacts with = conn.wait_with;
  const uint32_t batch = conn.wait_batch;
  state.conns.stop_waiting(conn);
  if (batch > 0) {
    return state.turn.answer(conn.id, reserve_batch(state, conn, batch, with, &tube));
  }
  state.conns.count_share(conn, tube.id);
  reserve(state, conn, job);
  state.turn.answer(conn.id, job_reply(state, Word::Reserved, job, with));
}

void hand_out(State& state, Tube& tube) {
  while (!tube.paused() && tube.has_servable() && !tube.waiting.empty()) serve(state, tube);
}

void serve_freed_slots(State& state) {
  while (Tube* const tube = state.tubes.take_freed_slot()) hand_out(state, *tube);
}

void end_wait(State& state, Conn& conn) {
  const bool is_batch = conn.wait_batch > 0;
  state.conns.stop_waiting(conn);
  answer_no_job(state, conn, is_batch);
}

void answer_no_job(State& state, const Conn& conn, bool is_batch) {
  if (is_batch) return state.turn.answer(conn.id, std::make_unique<JobsReserved>());
  state.turn.answer(conn.id, Word::TimedOut);
}

}  // namespace perennial::engine
