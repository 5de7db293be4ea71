// The commands about one job: put, delete, release, bury, touch, kick-job, set-job. And the
// transitions between states.

#include <algorithm>
#include <array>
#include <tuple>

#include "engine/state.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

Nanos seconds(uint32_t count) {
  return static_cast<Nanos>(count) * nanos_per_second;
}

}  // namespace

Job* State::find_job(JobId id) {
  Job** const job = jobs_.find(id);
  return job != nullptr ? *job : nullptr;
}

Job* State::find_reserved(const Conn& conn, JobId id) {
  Job* const job = find_job(id);
  const bool held =
      job != nullptr && job->state == JobState::Reserved && job->place.holder == conn.id;
  return held ? job : nullptr;
}

JobId State::take_id() {
  return next_id_++;
}

void State::make_producer(Conn& conn) {
  if (conn.producer || conn.is_internal) return;
  conn.producer = true;
  ++producers_;
}

void State::make_worker(Conn& conn) {
  if (conn.worker || conn.is_internal) return;
  conn.worker = true;
  ++workers_;
}

const std::string& State::put_tube(const Conn& conn, const std::string& batch_tube,
                                   const Put& put) const {
  if (put.options && !put.options->tube.empty()) return put.options->tube;
  return batch_tube.empty() ? tube_of(conn.used).name : batch_tube;
}

std::optional<PutRefusal> State::put_refusal(std::string_view tube, size_t jobs,
                                             size_t keys) const {
  if (draining_ || is_draining(tube)) return PutRefusal::Draining;
  if (!turn_.accepts_puts()) return PutRefusal::Space;
  if (limits_.jobs_max != 0 && jobs_.size() + jobs > limits_.jobs_max) return PutRefusal::Jobs;
  const bool has_keys = limits_.keys_max == 0 || keys_.size() + keys <= limits_.keys_max;
  if (keys > 0 && !has_keys) return PutRefusal::Keys;
  return std::nullopt;
}

void State::refuse_put(const Conn& conn, PutRefusal why) {
  ++puts_refused_[static_cast<size_t>(why)];
  constexpr std::array words = {Word::Draining,    Word::OutOfMemory, Word::OutOfMemory,
                                Word::OutOfMemory, Word::OutOfMemory, Word::JobTooBig,
                                Word::ExpectedCrlf};
  static_assert(words.size() == std::tuple_size_v<PutRefusals>);
  answer(conn, words[static_cast<size_t>(why)]);
}

void State::run(Conn& conn, const Put& put) {
  make_producer(conn);
  static const std::string no_tube;
  const std::string& name = put_tube(conn, no_tube, put);
  // A producer that has lost its answer gets it even where no put is accepted.
  if (const auto duplicate = find_duplicate(name, put)) return answer(conn, *duplicate);
  const std::optional<PutRefusal> refusal =
      put_refusal(name, 1, put.options && put.options->key ? 1 : 0);
  Tube* tube = nullptr;
  if (!refusal) {
    const bool is_named = put.options && !put.options->tube.empty();
    tube = is_named ? find_or_make_tube(name) : &tube_of(conn.used);
  }
  if (tube == nullptr) {
    // A put that is refused uses up an id. So it does in beanstalkd, which gives a job its id when
    // the header is read.
    take_id();
    return refuse_put(conn, refusal.value_or(PutRefusal::Tubes));
  }
  answer(conn, NumberReply{Word::Inserted, add_job(*tube, put)});
  hand_out(*tube);
}

JobId State::add_job(Tube& tube, const Put& put) {
  const JobId id = take_id();
  if (id >= id_limit_) {
    id_limit_ = id + limits_.id_block;
    turn_.emit(NextIdRaised{id_limit_});
  }
  store_tube(tube);
  const bool has_ttr_rest = put.options && put.options->ttr_rest_ns > 0;
  Job* const job = pool_.take({.id = id,
                               .created = turn_.now(),
                               .tube = tube.id,
                               .priority = put.priority,
                               .delay_s = put.delay_s,
                               // protocol.txt, "put": a ttr of 0 is made 1.
                               .ttr_s = has_ttr_rest ? put.ttr_s : std::max(put.ttr_s, 1u),
                               .body_bytes = put.body_bytes});
  jobs_.insert(id, job);
  ++tube.total_jobs;
  ++total_jobs_;
  body_bytes_ += put.body_bytes;
  if (put.options || tube.settings)
    set_fields(*job, put.options ? *put.options : PutOptions(), tube);
  const Nanos delay = delay_of(*job);
  if (delay > 0) {
    job->state = JobState::Delayed;
    job->order = static_cast<uint64_t>(later(turn_.now(), delay));
  }
  enter(*job, turn_.now());
  turn_.emit_counted(JobMoved{id, std::nullopt, row_of(*job), true});
  hold_key(*job);
  return id;
}

void State::run(Conn& conn, const PutTooBig& /*put*/) {
  refuse_put(conn, PutRefusal::Size);
}

void State::run(Conn& conn, const PutTrailingJunk& /*put*/) {
  answer(conn, Word::BadFormat);
}

void State::run(Conn& conn, const PutNoCrlf& /*put*/) {
  make_producer(conn);
  take_id();
  refuse_put(conn, PutRefusal::Crlf);
}

// protocol.txt says that a job must be reserved or buried to be deleted. beanstalkd lets any
// connection delete a job that no other connection has reserved, and clients rely on it.
Job* State::find_free(const Conn& conn, JobId id) {
  Job* const job = find_job(id);
  const bool is_held =
      job != nullptr && job->state == JobState::Reserved && job->place.holder != conn.id;
  return is_held ? nullptr : job;
}

void State::run(Conn& conn, const Delete& command) {
  answer(conn, remove_for(conn, command.id) ? Word::Deleted : Word::NotFound);
}

// Returns whether the connection may delete the job; if so, it is deleted.
bool State::remove_for(Conn& conn, JobId id) {
  Job* const job = find_free(conn, id);
  if (job == nullptr) return false;
  Tube& tube = tube_of(job->tube);
  ++tube.cmd_delete;
  end_run(*job, RunEnd::Deleted);
  remove(*job, KeyEnd::Cooldown, true);
  end_if_unused(tube);
  return true;
}

void State::remove(Job& job, KeyEnd key_end, bool promised) {
  const JobId id = job.id;
  leave(job);
  if (promised) ++job_ends_.deleted;
  body_bytes_ -= job.body_bytes;
  turn_.emit_counted(JobMoved{id, job.state, std::nullopt, promised});
  end_key(job, key_end);
  drop_fields(job);
  jobs_.erase(id);
  pool_.release(&job);
}

void State::run(Conn& conn, const Release& release) {
  Job* const job = find_reserved(conn, release.id);
  if (job == nullptr) return answer(conn, Word::NotFound);
  end_run(*job, RunEnd::Released);
  ++job_ends_.released;
  job->priority = release.priority.priority.value_or(job->priority);
  const Nanos delay = seconds(release.delay_s) + release.delay_rest_ns;
  set_delay(*job, delay);
  ++job->releases;
  const Return how = end_attempt(*job, !release.count.given, delay);
  // The answer is appended before the transition, because the job may at once answer the waiting
  // reserve of another connection. The replies of an input are in the order in which things
  // happened.
  answer(conn, how.to == Return::To::Dead ? Word::Buried : Word::Released);
  give_back(*job, how, true);
}

void State::run(Conn& conn, const Bury& command) {
  Job* const job = find_reserved(conn, command.id);
  if (job == nullptr) return answer(conn, Word::NotFound);
  end_run(*job, RunEnd::Buried);
  job->priority = command.priority.priority.value_or(job->priority);
  bury(*job, true);
  answer(conn, Word::Buried);
}

void State::run(Conn& conn, const Touch& command) {
  answer(conn, touch(conn, command.id, command.ttr.nanos) ? Word::Touched : Word::NotFound);
}

// Returns whether this connection has reserved the job; if so, `left` is left of the reservation,
// or the job's ttr if `left` is 0.
bool State::touch(Conn& conn, JobId id, Nanos left) {
  Job* const job = find_reserved(conn, id);
  if (job == nullptr) return false;
  job->order = static_cast<uint64_t>(later(turn_.now(), left > 0 ? left : ttr_of(*job)));
  conn.reserved.update(job->order, job->id, *job);
  schedule(conn);
  return true;
}

// Whoever looks at a job that is buried already is told the same again, and nothing is counted.
void State::on_damaged(JobId id) {
  Job* const job = find_job(id);
  if (job == nullptr || job->state == JobState::Buried) return;
  ++jobs_damaged_;
  end_run(*job, RunEnd::Buried);
  bury(*job, false);
}

void State::run(Conn& conn, const KickJob& kick) {
  Job* const job = find_job(kick.id);
  if (job == nullptr || (job->state != JobState::Buried && job->state != JobState::Delayed)) {
    return answer(conn, Word::NotFound);
  }
  kicked(*job);
  answer(conn, Word::Kicked);
  move_to_ready(*job, true);
}

void State::move_to_ready(Job& job, bool promised) {
  move(job, JobState::Ready, 0, promised);
  hand_out(tube_of(job.tube));
}

void State::bury(Job& job, bool promised) {
  ++job.buries;
  ++job_ends_.buried;
  move(job, JobState::Buried, next_bury_order_++, promised);
}

void State::move(Job& job, JobState to, uint64_t order, bool promised) {
  change(job, promised, [&] {
    job.state = to;
    job.order = order;
  });
}

void State::move_to_tube(Job& job, Tube& to, bool promised) {
  change(job, promised, [&] {
    put_into(job, to);
    job.state = JobState::Ready;
    job.order = 0;
  });
}

void State::put_into(Job& job, Tube& to) {
  if (job.tube == to.id) return;
  end_key(job, KeyEnd::Free);
  if (JobFields* const fields = fields_of(job)) {
    fields->key.reset();
    fields->from.clear();
    drop_empty_fields(job);
  }
  job.tube = to.id;
}

// ---- set-job.

// A delay only for a job that is ready or delayed.
bool State::allows(const SetJob& set, const Job& job) {
  return !set.delay || job.state == JobState::Ready || job.state == JobState::Delayed;
}

void State::run(Conn& conn, const SetJob& set) {
  Job* const job = find_free(conn, set.id);
  if (job == nullptr || !allows(set, *job)) return answer(conn, Word::NotFound);
  Tube* const to = set.tube.empty() ? nullptr : find_or_make_tube(set.tube);
  if (to == nullptr && !set.tube.empty()) return answer(conn, Word::OutOfMemory);
  if (to != nullptr) store_tube(*to);
  Tube& from = tube_of(job->tube);
  change(*job, true, [&] { edit(*job, set, to); });
  answer(conn, Word::Set);
  hand_out(tube_of(job->tube));
  if (to != nullptr && to != &from) end_if_unused(from);
}

// A new ttr is used by the next touch or reservation.
void State::edit(Job& job, const SetJob& set, Tube* to) {
  job.priority = set.priority.value_or(job.priority);
  if (set.ttr) set_ttr(job, set.ttr->nanos);
  if (to != nullptr) put_into(job, *to);
  if (set.delay) {
    set_delay(job, set.delay->nanos);
    job.state = set.delay->nanos > 0 ? JobState::Delayed : JobState::Ready;
    job.order =
        set.delay->nanos > 0 ? static_cast<uint64_t>(later(turn_.now(), set.delay->nanos)) : 0;
  }
  if (!set.expire.given && !set.tries.given && !set.backoff.given && !set.dead.given) return;
  JobFields& fields = make_fields(job);
  if (set.expire.given)
    fields.expires_at = set.expire.value ? later(turn_.now(), set.expire.value->nanos) : 0;
  if (set.tries.given) {
    fields.tries = set.tries.value ? static_cast<uint32_t>(set.tries.value->value) : 0;
  }
  set.backoff.apply(fields.backoff);
  if (set.dead.given) fields.dead = set.dead.value.value_or("");
  drop_empty_fields(job);
}

// The holder of a reserved job stays, so that a job that only changes can enter again.
Nanos State::leave(Job& job) {
  Tube& tube = tube_of(job.tube);
  count(job, -1);
  if (const Nanos expires_at = expiry_of(job)) expiries_.erase({expires_at, job.id});
  const ConcurrencyKey* const key = concurrency_of(job);
  Nanos since = 0;
  switch (job.state) {
    case JobState::Ready:
      since = static_cast<Nanos>(job.order);
      ready_apart_ -= tube.ready_order.remove(pool_, job) ? 1 : 0;
      if (key != nullptr) {
        leave_group(tube, job, *key);
      } else {
        tube.ready.remove(job);
        update_has_ready(tube);
      }
      break;
    case JobState::Buried:
      tube.buried.remove(job);
      break;
    case JobState::Delayed:
      tube.delayed.remove(job);
      schedule_delayed(tube);
      break;
    case JobState::Reserved:
      Conn& conn = conn_of(job.place.holder);
      conn.reserved.remove(job);
      const auto place = tube.reserved.find(job.id);
      since = place->second;
      tube.reserved.erase(place);
      if (key != nullptr) leave_group(tube, job, *key);
      if (tube.settings) on_slot_freed(tube);
      schedule(conn);
      break;
  }
  return since;
}

void State::enter(Job& job, Nanos since) {
  Tube& tube = tube_of(job.tube);
  count(job, 1);
  const bool is_waiting = job.state == JobState::Delayed || job.state == JobState::Buried;
  if (is_waiting) job.place.holder = 0;
  if (const Nanos expires_at = expiry_of(job)) expiries_.emplace(expires_at, job.id);
  const ConcurrencyKey* const key = concurrency_of(job);
  switch (job.state) {
    case JobState::Ready:
      job.order = static_cast<uint64_t>(since);
      if (is_restoring_) {
        tube.ready_order.append(pool_, job);
      } else {
        ready_apart_ += tube.ready_order.add(pool_, job) ? 1 : 0;
      }
      if (key != nullptr) return enter_group(tube, job, *key);
      tube.ready.push(job.priority, job.id, job);
      return update_has_ready(tube);
    case JobState::Buried:
      return tube.buried.push(job.order, job.id, job);
    case JobState::Delayed:
      tube.delayed.push(job);
      return schedule_delayed(tube);
    case JobState::Reserved:
      Conn& conn = conn_of(job.place.holder);
      conn.reserved.push(job.order, job.id, job);
      tube.reserved.emplace(job.id, since);
      if (key != nullptr) enter_group(tube, job, *key);
      if (tube.settings) update_has_ready(tube);
      return schedule(conn);
  }
}

void State::end_run(const Job& job, RunEnd how) {
  if (job.state != JobState::Reserved) return;
  const Tube& tube = tube_of(job.tube);
  const Nanos since = tube.reserved.at(job.id);
  if (since == 0) return;
  work_times_.run_of(how).record_time(turn_.now() - since);
  if (tube.times != nullptr) tube.times->run.record_time(turn_.now() - since);
}

// Adds `by` to the counts that a job in this state is part of. leave() counts with the current
// priority, so the priority of a ready job must not be changed while it is in its heap.
void State::count(const Job& job, int64_t by) {
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
      return add(counts_.reserved);
  }
}

}  // namespace perennial::engine
