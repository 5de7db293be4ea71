// The life of a job: put, delete, release, bury, touch, kick-job, and the moves between states.

#include <algorithm>

#include "engine/engine.h"

namespace perennial::engine {
namespace {

Nanos seconds(uint32_t count) {
  return static_cast<Nanos>(count) * nanos_per_second;
}

}  // namespace

Job* Engine::find_job(JobId id) {
  Job** const job = jobs_.find(id);
  return job != nullptr ? *job : nullptr;
}

Job* Engine::find_reserved(const Conn& conn, JobId id) {
  Job* const job = find_job(id);
  const bool held = job != nullptr && job->state == JobState::Reserved && job->holder == conn.id;
  return held ? job : nullptr;
}

JobId Engine::take_id() {
  return next_id_++;
}

void Engine::make_producer(Conn& conn) {
  if (conn.producer) return;
  conn.producer = true;
  ++producers_;
}

void Engine::run(Conn& conn, const Put& put) {
  make_producer(conn);
  // What is refused from here on costs an id, as in beanstalkd, whose jobs have theirs from the
  // header on.
  const JobId id = take_id();
  if (draining_) return answer(conn, Word::Draining);
  if (!room_ || (limits_.jobs_max > 0 && jobs_.size() >= limits_.jobs_max)) {
    return answer(conn, Word::OutOfMemory);
  }
  if (id >= id_limit_) {
    id_limit_ = id + limits_.id_block;
    out_->transitions.emplace_back(NextIdRaised{id_limit_});
  }

  Tube& tube = tube_of(conn.used);
  store_tube(tube);
  Job* const job = pool_.take({.id = id,
                               .created = now_,
                               .tube = tube.id,
                               .priority = put.priority,
                               .delay_s = put.delay_s,
                               // protocol.txt, "put": a ttr of 0 is made 1.
                               .ttr_s = std::max(put.ttr_s, 1u),
                               .body_bytes = put.body_bytes});
  jobs_.insert(id, job);
  ++tube.total_jobs;
  ++total_jobs_;
  if (put.delay_s > 0) {
    job->state = JobState::Delayed;
    job->order = static_cast<uint64_t>(now_ + seconds(put.delay_s));
  }
  enter(*job);
  ++moves_;
  out_->transitions.emplace_back(JobMoved{id, std::nullopt, to_row(*job), true});
  answer(conn, Inserted{id});
  hand_out(tube);
}

void Engine::run(Conn& conn, const PutTooBig& /*put*/) {
  answer(conn, Word::JobTooBig);
}

void Engine::run(Conn& conn, const PutTrailingJunk& /*put*/) {
  answer(conn, Word::BadFormat);
}

void Engine::run(Conn& conn, const PutNoCrlf& /*put*/) {
  make_producer(conn);
  take_id();
  answer(conn, Word::ExpectedCrlf);
}

void Engine::run(Conn& conn, const Delete& command) {
  const JobId id = command.id;
  Job* const job = find_job(id);
  if (job == nullptr) return answer(conn, Word::NotFound);
  // protocol.txt says that a job must be reserved or buried; beanstalkd lets anyone delete any job
  // that nobody else holds, and clients rely on it.
  if (job->state == JobState::Reserved && job->holder != conn.id) {
    return answer(conn, Word::NotFound);
  }
  Tube& tube = tube_of(job->tube);
  ++tube.cmd_delete;
  leave(*job);
  ++moves_;
  out_->transitions.emplace_back(JobMoved{id, job->state, std::nullopt, true});
  jobs_.erase(id);
  pool_.release(job);
  end_if_unused(tube);
  answer(conn, Word::Deleted);
}

void Engine::run(Conn& conn, const Release& release) {
  Job* const job = find_reserved(conn, release.id);
  if (job == nullptr) return answer(conn, Word::NotFound);
  job->priority = release.priority;
  job->delay_s = release.delay_s;
  ++job->releases;
  // The answer comes first: the job may go on to this very connection's next reserve, never before
  // it.
  answer(conn, Word::Released);
  if (release.delay_s == 0) return move_to_ready(*job, true);
  const Nanos due = now_ + seconds(release.delay_s);
  move(*job, JobState::Delayed, static_cast<uint64_t>(due), true);
}

void Engine::run(Conn& conn, const Bury& command) {
  Job* const job = find_reserved(conn, command.id);
  if (job == nullptr) return answer(conn, Word::NotFound);
  job->priority = command.priority;
  bury(*job, true);
  answer(conn, Word::Buried);
}

void Engine::run(Conn& conn, const Touch& touch) {
  Job* const job = find_reserved(conn, touch.id);
  if (job == nullptr) return answer(conn, Word::NotFound);
  job->order = static_cast<uint64_t>(now_ + seconds(job->ttr_s));
  conn.reserved.update(job->order, job->id, *job);
  schedule(conn);
  answer(conn, Word::Touched);
}

void Engine::on_damaged(JobId id) {
  ++jobs_damaged_;
  Job* const job = find_job(id);
  if (job != nullptr && job->state != JobState::Buried) bury(*job, false);
}

void Engine::run(Conn& conn, const KickJob& kick) {
  Job* const job = find_job(kick.id);
  if (job == nullptr || (job->state != JobState::Buried && job->state != JobState::Delayed)) {
    return answer(conn, Word::NotFound);
  }
  ++job->kicks;
  answer(conn, Word::Kicked);
  move_to_ready(*job, true);
}

void Engine::move_to_ready(Job& job, bool promised) {
  move(job, JobState::Ready, 0, promised);
  hand_out(tube_of(job.tube));
}

void Engine::bury(Job& job, bool promised) {
  ++job.buries;
  move(job, JobState::Buried, next_bury_order_++, promised);
}

void Engine::move(Job& job, JobState to, uint64_t order, bool promised) {
  const JobState before = job.state;
  leave(job);
  job.state = to;
  job.order = order;
  enter(job);
  ++moves_;
  out_->transitions.emplace_back(JobMoved{job.id, before, to_row(job), promised});
}

void Engine::leave(Job& job) {
  Tube& tube = tube_of(job.tube);
  count(job, -1);
  switch (job.state) {
    case JobState::Ready:
      tube.ready.remove(job);
      return note_ready(tube);
    case JobState::Buried:
      return tube.buried.remove(job);
    case JobState::Delayed:
      tube.delayed.remove(job);
      return schedule_delayed(tube);
    case JobState::Reserved:
      Conn& conn = conn_of(job.holder);
      conn.reserved.remove(job);
      job.holder = 0;
      return schedule(conn);
  }
}

void Engine::enter(Job& job) {
  Tube& tube = tube_of(job.tube);
  count(job, 1);
  switch (job.state) {
    case JobState::Ready:
      tube.ready.push(job.priority, job.id, job);
      return note_ready(tube);
    case JobState::Buried:
      return tube.buried.push(job.order, job.id, job);
    case JobState::Delayed:
      tube.delayed.push(job);
      return schedule_delayed(tube);
    case JobState::Reserved:
      Conn& conn = conn_of(job.holder);
      conn.reserved.push(job.order, job.id, job);
      return schedule(conn);
  }
}

// Adds `by` to the counts that a job in its state is part of. leave() counts with the priority that
// the job has by then, so a ready job's priority must not be changed while it is ready; no command
// does.
void Engine::count(const Job& job, int64_t by) {
  const auto add = [by](uint64_t& value) { value += static_cast<uint64_t>(by); };
  Tube& tube = tube_of(job.tube);
  switch (job.state) {
    case JobState::Ready:
      add(counts_.ready);
      if (job.priority < urgent_priority_limit) {
        add(counts_.urgent);
        add(tube.urgent_count);
      }
      return;
    case JobState::Buried:
      return add(counts_.buried);
    case JobState::Delayed:
      return add(counts_.delayed);
    case JobState::Reserved:
      add(counts_.reserved);
      return add(tube.reserved_count);
  }
}

}  // namespace perennial::engine
