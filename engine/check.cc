// Recounts everything from scratch. Slow, and called only by tests.

#include <algorithm>
#include <string>

#include "absl/container/btree_map.h"
#include "engine/engine.h"
#include "engine/statistics/image_of.h"
#include "engine/tables/state.h"

namespace perennial::engine {

// Sees what the tables keep to themselves.
struct Check {
  const State& state;
  const JobTable& jobs = state.jobs;
  const TubeTable& tubes = state.tubes;
  const ConnTable& conns = state.conns;

  void check_jobs() const;
  void check_fields(const Image& all) const;
  void check_groups(const Image& all) const;
  void check_tubes() const;
  void check_conns() const;
  void check_schedules() const;
  bool is_in_its_heap(const Job& job) const;
  const ConcurrencyKey* concurrency_of(const Job& job) const {
    return state.fields.concurrency_of(job);
  }
};

void Engine::check() const {
  const Check check = {*state_};
  check.check_jobs();
  check.check_tubes();
  check.check_conns();
  check.check_schedules();
}

bool Check::is_in_its_heap(const Job& job) const {
  const Tube& tube = tubes.of(job.tube);
  switch (job.state) {
    case JobState::Ready:
      if (const ConcurrencyKey* const key = concurrency_of(job)) {
        if (tube.groups->is_behind(*key, job)) return true;
      }
      return tube.ready->holds(job);
    case JobState::Delayed:
      return tube.delayed->holds(job);
    case JobState::Buried:
      return tube.buried->holds(job);
    case JobState::Reserved:
      break;
  }
  return conns.of(job.place.holder).reserved->holds(job);
}

void Check::check_jobs() const {
  const Image all = image_of(state);
  CHECK(all.jobs.size() == jobs.size());
  StateCounts counts;
  uint64_t body_bytes = 0;
  for (const auto& [id, row] : all.jobs) {
    const Job* const job = jobs.find(id);
    CHECK(job->id == id);
    CHECK(is_in_its_heap(*job));
    CHECK(id < jobs.next_id());
    const bool is_waiting = job->state == JobState::Delayed || job->state == JobState::Buried;
    CHECK(!is_waiting || job->place.holder == 0);
    CHECK(job->state != JobState::Ready ||
          static_cast<Nanos>(job->order) <= std::max(state.turn.now(), tubes.rates_.restored_at()));
    CHECK(job->state != JobState::Buried || job->order < jobs.next_bury_order());
    counts.ready += job->state == JobState::Ready;
    counts.urgent += job->state == JobState::Ready && job->priority < urgent_priority_limit;
    counts.reserved += job->state == JobState::Reserved;
    counts.delayed += job->state == JobState::Delayed;
    counts.buried += job->state == JobState::Buried;
    body_bytes += job->body_bytes;
  }
  CHECK(body_bytes == jobs.body_bytes());
  check_fields(all);
  check_groups(all);
  CHECK(counts.ready == jobs.counts().ready);
  CHECK(counts.urgent == jobs.counts().urgent);
  CHECK(counts.reserved == jobs.counts().reserved);
  CHECK(counts.delayed == jobs.counts().delayed);
  CHECK(counts.buried == jobs.counts().buried);
}

// Each job with fields has them in the table, and no other. Each key that is held without an end is
// that of a job that has not given it up, and each such job holds its key.
void Check::check_fields(const Image& all) const {
  size_t with_fields = 0;
  size_t expiring = 0;
  for (const auto& [id, row] : all.jobs) {
    with_fields += row.fields ? 1 : 0;
    if (!row.fields) continue;
    CHECK(*row.fields != JobFields());
    const Job& job = *jobs.find(id);
    if (const Nanos at = state.fields.expiry_of(job)) {
      ++expiring;
      CHECK(jobs.expiries_.contains({at, id}));
    }
    const auto& key = row.fields->key;
    if (!key || key->given_up || key->until == KeyUntil::Ttl) continue;
    const KeyTable::Entry* const entry = state.keys.find(tubes.of(row.tube).name, key->key);
    CHECK(entry != nullptr && entry->job == id && entry->expires_at == 0);
  }
  CHECK(state.fields.size() == with_fields);
  CHECK(jobs.expiries_.size() == expiring);
  for (const auto& [name, key] : all.keys) {
    if (key.expires_at > 0) continue;
    const auto job = all.jobs.find(key.job);
    CHECK(job != all.jobs.end() && job->second.fields && job->second.fields->key);
    CHECK(job->second.fields->key->key == key.key && !job->second.fields->key->given_up);
  }
}

void Check::check_groups(const Image& all) const {
  absl::flat_hash_map<TubeId, absl::btree_map<std::string, uint64_t>> reserved;
  for (const auto& [id, row] : all.jobs) {
    if (row.state != JobState::Reserved || !row.fields || !row.fields->concurrency) continue;
    ++reserved[row.tube][row.fields->concurrency->key];
  }
  uint64_t parked = 0;
  for (const auto& [id, row] : all.jobs) {
    parked += jobs.is_parked(*jobs.find(id)) ? 1 : 0;
  }
  CHECK(parked == jobs.parked());
  for (const Tube* const tube : tubes.list()) {
    CHECK(tube->groups || !reserved.contains(tube->id));
    if (!tube->groups) continue;
    tube->groups->check(reserved[tube->id],
                        [this](const Job& job) { return concurrency_of(job)->jobs_max; });
    parked -= tube->parked_count();
  }
  CHECK(parked == 0);
}

void Check::check_tubes() const {
  size_t tubes_delayed = 0;
  size_t tubes_paused = 0;
  size_t reserved = 0;
  size_t urgent = 0;
  size_t name_bytes = 0;
  size_t measured = 0;
  size_t apart = 0;
  for (size_t i = 0; i < tubes.list().size(); ++i) {
    const Tube& tube = *tubes.list()[i];
    CHECK(tube.list_index == i);
    CHECK(&tubes.of(tube.id) == &tube);
    CHECK(tubes.by_name_.find(tube.name) == &tube);
    CHECK(tube.id == 0 || tube.referenced());
    CHECK(tube.stored || tube.job_count() == 0);
    CHECK(tube.stored || !tube.paused());
    CHECK(tube.paused() || !tube.has_servable() || tube.waiting.empty());
    CHECK(tubes.has_ready_[tube.id] == (!tube.paused() && tube.has_servable()));
    CHECK(tube.rate_spent == (tube.rate_index != not_in_heap));
    CHECK(!tubes.rates_.keeps(tube.name));
    CHECK((tube.settings ? *tube.settings : TubeSettings()) ==
          tubes.settings().in_force(tube.name));
    tube.ready->check();
    CHECK(tube.ready_order->check(jobs.pool_) == tube.ready_count());
    apart += tube.ready_order->apart();
    tube.delayed->check();
    tube.buried->check();
    tubes_delayed += !tube.delayed->empty();
    tubes_paused += tube.paused();
    reserved += tube.reserved->size();
    for (const auto& [id, since] : *tube.reserved) {
      CHECK(since <= state.turn.now());
      const Job* const job = jobs.find(id);
      CHECK(job->state == JobState::Reserved && job->tube == tube.id);
    }
    if (tube.times != nullptr) {
      ++measured;
      const auto& records = tubes.measured();
      CHECK(std::ranges::any_of(
          records, [&](const auto& each) { return &each.second.times == tube.times; }));
    }
    urgent += *tube.urgent_count;
    name_bytes += tube.name.size();
  }
  CHECK(tubes.rates_.kept() <= state.limits.tubes_max);
  CHECK(name_bytes == tubes.name_bytes_);
  CHECK(apart == jobs.ready_apart_);
  CHECK(tubes.measured().size() <= state.limits.measured_max);
  const auto alone = std::ranges::count_if(tubes.measured(),
                                           [](const auto& each) { return !each.second.is_group; });
  CHECK(static_cast<size_t>(alone) <= measured);
  CHECK(tubes.by_name_.size() == tubes.list().size());
  CHECK(tubes.by_delay_.size() == tubes_delayed);
  CHECK(tubes.by_pause_.size() == tubes_paused);
  CHECK(tubes.list().size() + tubes.free_ids_.size() == tubes.tubes_.size());
  CHECK(reserved == jobs.counts().reserved);
  CHECK(urgent == jobs.counts().urgent);
  tubes.by_delay_.check();
  tubes.by_pause_.check();
}

// Each schedule that is due at some time is in one of the orders, and no other is.
void Check::check_schedules() const {
  const ScheduleTable& schedules = state.schedules;
  size_t due = 0;
  size_t refused = 0;
  size_t bytes = 0;
  for (const auto& [name, entry] : schedules.by_name()) {
    CHECK(entry.schedule().name == name);
    CHECK(entry.progress().planned.has_value() ==
          (entry.progress().state == ScheduleState::Active));
    bytes += ScheduleTable::bytes_of(entry);
    const std::optional<Nanos> at = entry.due();
    CHECK(at || entry.retry_at == 0);
    if (!at) continue;
    if (entry.retry_at > 0) {
      ++refused;
      CHECK(schedules.by_retry_.contains({entry.retry_at, name}));
    } else {
      ++due;
      CHECK(schedules.by_due_.contains({*at, name}));
    }
  }
  CHECK(schedules.by_due_.size() == due);
  CHECK(schedules.by_retry_.size() == refused);
  CHECK(schedules.memory_bytes() == bytes);
}

void Check::check_conns() const {
  uint64_t open = 0;
  uint64_t producers = 0;
  uint64_t workers = 0;
  uint64_t waiting = 0;
  size_t watched_bytes = 0;
  absl::flat_hash_map<TubeId, uint64_t> used;
  absl::flat_hash_map<TubeId, uint64_t> watched;
  absl::flat_hash_map<TubeId, uint64_t> waited;
  for (const auto& [id, conn] : conns.all()) {
    CHECK(conn->id == id);
    conn->reserved->check();
    watched_bytes += conn->watched.memory_bytes();
    const bool timed = !conn->closing && (!conn->reserved->empty() || conn->wait_until);
    CHECK(timed == (conn->deadline_index != not_in_heap));
    used[conn->used] += conn->uses_tube;
    for (const WatchLink& link : conn->watched.links()) {
      CHECK(link.conn == conn.get());
      CHECK(++watched[link.tube] > 0);
      waited[link.tube] += conn->waiting;
    }
    if (conn->closing) continue;
    open += conn->is_internal ? 0 : 1;
    producers += conn->producer;
    workers += conn->worker;
    waiting += conn->waiting;
  }
  CHECK(open == conns.counts().open);
  CHECK(producers == conns.counts().producers);
  CHECK(workers == conns.counts().workers);
  CHECK(waiting == conns.counts().waiting);
  CHECK(watched_bytes == conns.watched_bytes_);
  for (const Tube* tube : tubes.list()) {
    CHECK(tube->using_count == used[tube->id]);
    CHECK(tube->watching_count == watched[tube->id]);
    CHECK(tube->waiting.size() == waited[tube->id]);
  }
  conns.by_deadline_.check();
}

}  // namespace perennial::engine
