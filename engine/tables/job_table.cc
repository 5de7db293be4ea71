#include "engine/tables/job_table.h"

#include <algorithm>
#include <memory>

#include "engine/types/later.h"

namespace perennial::engine {

Job* JobTable::find_reserved(const Conn& conn, JobId id) {
  Job* const job = find(id);
  const bool held =
      job != nullptr && job->state == JobState::Reserved && job->place.holder == conn.id;
  return held ? job : nullptr;
}

// protocol.txt says that a job must be reserved or buried to be deleted. beanstalkd lets any
// connection delete a job that no other connection has reserved, and clients rely on it.
Job* JobTable::find_free(const Conn& conn, JobId id) {
  Job* const job = find(id);
  const bool is_held =
      job != nullptr && job->state == JobState::Reserved && job->place.holder != conn.id;
  return is_held ? nullptr : job;
}

// ---- Changes.

JobId JobTable::take_stored_id() {
  const JobId id = take_id();
  if (id >= id_limit_) {
    id_limit_ = id + limits_.id_block;
    turn_.emit(NextIdRaised{id_limit_});
  }
  return id;
}

void JobTable::insert(Tube& tube, Job& job) {
  jobs_.insert(job.id, &job);
  ++tube.total_jobs;
  tube.put_bytes += job.body_bytes;
  ++total_;
  body_bytes_ += job.body_bytes;
}

Job& JobTable::add(Tube& tube, const Put& put, const ScheduleOrigin* origin) {
  const JobId id = take_stored_id();
  tubes_.store(tube);
  const Nanos now = turn_.now();
  const bool has_ttr_rest = put.options && put.options->ttr_rest_ns > 0;
  Job* const job = pool_.take({.id = id,
                               .created = now,
                               .tube = tube.id,
                               .priority = put.priority,
                               .delay_s = put.delay_s,
                               // protocol.txt, "put": a ttr of 0 is made 1.
                               .ttr_s = has_ttr_rest ? put.ttr_s : std::max(put.ttr_s, 1u),
                               .body_bytes = put.body_bytes});
  insert(tube, *job);
  if (put.options || tube.settings) {
    const std::string_view put_by = turn_.keeps_ended(tube.settings) ? turn_.user() : "";
    fields_.make_from(*job, put.options ? *put.options : PutOptions(), tube, now, put_by);
  }
  if (origin != nullptr) fields_.make(*job).schedule = *origin;
  const Nanos delay = fields_.delay_of(*job);
  if (delay > 0) {
    job->state = JobState::Delayed;
    job->order = static_cast<uint64_t>(later(now, delay));
  }
  enter(*job, now);
  turn_.emit_counted(JobMoved{id, std::nullopt, row_of(*job), true});
  return *job;
}

Job& JobTable::add_again(Tube& tube, const JobRow& ended) {
  const Nanos now = turn_.now();
  Job again = from_row(ended);
  again.id = take_stored_id();
  tubes_.store(tube);
  again.tube = tube.id;
  const bool is_due = again.state == JobState::Delayed && again.order <= static_cast<uint64_t>(now);
  if (is_due || again.state == JobState::Reserved) again.state = JobState::Ready;
  if (again.state == JobState::Buried) pass_bury_order(again.order);
  Job& job = *pool_.take(again);
  insert(tube, job);
  JobFields& fields = fields_.make(job);
  if (ended.fields) fields = *ended.fields;
  if (fields.expires_at <= now) fields.expires_at = 0;
  fields.restored = ended.id;
  enter(job, now);
  turn_.emit_counted(JobMoved{job.id, std::nullopt, row_of(job), true});
  return job;
}

void JobTable::move(Job& job, JobState to, uint64_t order, bool promised) {
  change(job, promised, [&] {
    job.state = to;
    job.order = order;
  });
}

// The place of a buried job is never before its time. A job that ended keeps its place, and comes
// back to it; a start does not look at jobs that ended, so a sequence that began anew with it would
// give their places again.
void JobTable::bury(Job& job, bool promised) {
  const auto now = static_cast<uint64_t>(std::max<Nanos>(turn_.now(), 0));
  const uint64_t order = std::max(next_bury_order_, now);
  pass_bury_order(order);
  move(job, JobState::Buried, order, promised);
}

void JobTable::extend(Conn& conn, Job& job, Nanos until) {
  job.order = static_cast<uint64_t>(until);
  conn.reserved.value_.update(job.order, job.id, job);
  conns_.schedule(conn);
}

void JobTable::renew(Job& job) {
  JobFields* const fields = fields_.of(job);
  if (fields == nullptr) return;
  if (const Nanos expires_at = fields_.expiry_of(job)) expiries_.erase({expires_at, job.id});
  fields->attempts = 0;
  fields->expires_at = 0;
  fields_.drop_if_empty(job);
}

void JobTable::erase(Job& job) {
  fields_.drop(job);
  jobs_.erase(job.id);
  pool_.release(&job);
}

// The holder of a reserved job stays, so that a job that only changes can enter again.
Nanos JobTable::leave(Job& job) {
  Tube& tube = tubes_.of(job.tube);
  count(job, tube, -1);
  if (const Nanos expires_at = fields_.expiry_of(job)) expiries_.erase({expires_at, job.id});
  const ConcurrencyKey* const key = fields_.concurrency_of(job);
  Nanos since = 0;
  switch (job.state) {
    case JobState::Ready:
      since = static_cast<Nanos>(job.order);
      ready_apart_ -= tube.ready_order.value_.remove(pool_, job) ? 1 : 0;
      if (key != nullptr) {
        leave_group(tube, job, *key);
      } else {
        tube.ready.value_.remove(job);
        tubes_.update_has_ready(tube);
      }
      break;
    case JobState::Buried:
      tube.buried.value_.remove(job);
      break;
    case JobState::Delayed:
      tube.delayed.value_.remove(job);
      tubes_.schedule_delayed(tube);
      break;
    case JobState::Reserved:
      Conn& conn = conns_.of(job.place.holder);
      conn.reserved.value_.remove(job);
      const auto place = tube.reserved.value_.find(job.id);
      since = place->second;
      tube.reserved.value_.erase(place);
      if (key != nullptr) leave_group(tube, job, *key);
      if (tube.settings) tubes_.on_slot_freed(tube);
      conns_.schedule(conn);
      break;
  }
  return since;
}

void JobTable::enter(Job& job, Nanos since) {
  Tube& tube = tubes_.of(job.tube);
  count(job, tube, 1);
  const bool is_waiting = job.state == JobState::Delayed || job.state == JobState::Buried;
  if (is_waiting) job.place.holder = 0;
  if (const Nanos expires_at = fields_.expiry_of(job)) expiries_.emplace(expires_at, job.id);
  const ConcurrencyKey* const key = fields_.concurrency_of(job);
  switch (job.state) {
    case JobState::Ready:
      job.order = static_cast<uint64_t>(since);
      if (is_restoring_) {
        tube.ready_order.value_.append(pool_, job);
      } else {
        ready_apart_ += tube.ready_order.value_.add(pool_, job) ? 1 : 0;
      }
      if (key != nullptr) return enter_group(tube, job, *key);
      tube.ready.value_.push(job.priority, job.id, job);
      return tubes_.update_has_ready(tube);
    case JobState::Buried:
      return tube.buried.value_.push(job.order, job.id, job);
    case JobState::Delayed:
      tube.delayed.value_.push(job);
      return tubes_.schedule_delayed(tube);
    case JobState::Reserved:
      Conn& conn = conns_.of(job.place.holder);
      conn.reserved.value_.push(job.order, job.id, job);
      tube.reserved.value_.emplace(job.id, since);
      if (key != nullptr) enter_group(tube, job, *key);
      if (tube.settings) tubes_.update_has_ready(tube);
      return conns_.schedule(conn);
  }
}

// Adds `by` to the counts that a job in this state is part of. leave() counts with the current
// priority, so the priority of a ready job must not be changed while it is in its heap.
void JobTable::count(const Job& job, Tube& tube, int64_t by) {
  const auto add = [by](uint64_t& value) { value += static_cast<uint64_t>(by); };
  add(count_of(counts_, job.state));
  if (job.state != JobState::Ready || job.priority >= urgent_priority_limit) return;
  add(counts_.urgent);
  add(tube.urgent_count.value_);
}

void JobTable::enter_group(Tube& tube, Job& job, const ConcurrencyKey& key) {
  std::unique_ptr<ConcurrencyGroups>& groups = tube.groups.value_;
  if (!groups) groups = std::make_unique<ConcurrencyGroups>(tube.ready.value_);
  parked_ -= groups->parked();
  const auto jobs_max = [this](const Job& each) { return fields_.concurrency_of(each)->jobs_max; };
  if (job.state == JobState::Ready) {
    groups->add_ready(key, job, jobs_max);
  } else {
    groups->add_reserved(key, jobs_max);
  }
  parked_ += groups->parked();
  tubes_.update_has_ready(tube);
}

void JobTable::leave_group(Tube& tube, Job& job, const ConcurrencyKey& key) {
  ConcurrencyGroups& groups = *tube.groups.value_;
  parked_ -= groups.parked();
  const auto jobs_max = [this](const Job& each) { return fields_.concurrency_of(each)->jobs_max; };
  if (job.state == JobState::Ready) {
    groups.remove_ready(key, job, jobs_max);
  } else {
    groups.remove_reserved(key, jobs_max);
  }
  parked_ += groups.parked();
  // Another job of the key may be reserved now.
  tubes_.on_slot_freed(tube);
}

// ---- Expiry.

Job* JobTable::first_expired() {
  if (expiries_.empty() || expiries_.begin()->first > turn_.now()) return nullptr;
  return find(expiries_.begin()->second);
}

bool JobTable::has_expired(const Job& job) const {
  const Nanos expires_at = fields_.expiry_of(job);
  return expires_at > 0 && expires_at <= turn_.now();
}

std::optional<Nanos> JobTable::soonest_expiry() const {
  if (expiries_.empty()) return std::nullopt;
  return expiries_.begin()->first;
}

// ---- Start.

void JobTable::restore(const JobRow& row, Nanos now) {
  Job job = from_row(row);
  if (row.state == JobState::Delayed) {
    // A clock that was set back must not make a delay longer than it was asked to be.
    const Nanos rest = row.fields ? row.fields->delay_rest_ns : 0;
    const Nanos delay = static_cast<Nanos>(row.delay_s) * nanos_per_second + rest;
    job.order = std::min(row.order, static_cast<uint64_t>(later(now, delay)));
  }
  if (row.state == JobState::Buried) pass_bury_order(row.order);
  is_restoring_ = true;
  Job* const kept = pool_.take(job);
  jobs_.insert(row.id, kept);
  if (row.fields) fields_.make(*kept) = *row.fields;
  enter(*kept, since_restored(*kept, now));
  Tube& tube = tubes_.of(row.tube);
  ++tube.total_jobs;
  ++tube.loaded_jobs;
  ++total_;
  ++loaded_;
  body_bytes_ += row.body_bytes;
  next_id_ = std::max(next_id_, row.id + 1);
}

void JobTable::finish_restore(JobId next_id) {
  next_id_ = next_id;
  id_limit_ = next_id;
  for (Tube* const tube : tubes_.list()) tube->ready_order.value_.sort(pool_);
  is_restoring_ = false;
}

bool JobTable::is_ready_since_put(const Job& job) const {
  return job.reserves + job.buries + job.kicks == 0 && fields_.delay_of(job) == 0;
}

// Since when a ready job counts as ready that was restored: as its row says. A row without a time
// is that of a job that was never anything but ready, or it was not written by an engine. Where
// nothing is known the job is ready since the start. The run of a reserved job does not count.
Nanos JobTable::since_restored(const Job& job, Nanos now) const {
  if (job.state != JobState::Ready) return 0;
  if (job.order > 0) return std::min(static_cast<Nanos>(job.order), now);
  return is_ready_since_put(job) ? std::min(job.created, now) : now;
}

// ---- What is known of them.

JobRow JobTable::row_of(const Job& job) const {
  JobRow row = to_row(job);
  if (job.state == JobState::Ready) {
    const bool is_implied =
        is_ready_since_put(job) && job.order == static_cast<uint64_t>(job.created);
    row.order = is_implied ? 0 : job.order;
  }
  if (const JobFields* const fields = fields_.of(job)) row.fields = *fields;
  return row;
}

bool JobTable::is_parked(const Job& job) const {
  const ConcurrencyKey* const key = fields_.concurrency_of(job);
  return key != nullptr && job.state == JobState::Ready &&
         tubes_.of(job.tube).groups->is_full(*key);
}

size_t JobTable::memory_bytes() const {
  constexpr size_t heap_entry_bytes = sizeof(JobHeap::Entry);
  constexpr size_t reserved_bytes = 2 * (sizeof(JobId) + sizeof(Nanos));  // In the map of its tube.
  constexpr size_t apart_bytes = 2 * (sizeof(JobId) + sizeof(Nanos));     // In a ReadyOrder.
  return pool_.bytes() + jobs_.memory_bytes() + jobs_.size() * heap_entry_bytes +
         counts_.reserved * reserved_bytes + ready_apart_ * apart_bytes;
}

}  // namespace perennial::engine
