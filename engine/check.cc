// Recounts everything from scratch. Slow, and called only by tests.

#include <algorithm>
#include <string>

#include "absl/container/btree_map.h"
#include "engine/state.h"

namespace perennial::engine {

bool State::is_in_its_heap(const Job& job) const {
  const Tube& tube = tube_of(job.tube);
  switch (job.state) {
    case JobState::Ready:
      if (const ConcurrencyKey* const key = concurrency_of(job)) {
        if (tube.groups->is_behind(*key, job)) return true;
      }
      return tube.ready.holds(job);
    case JobState::Delayed:
      return tube.delayed.holds(job);
    case JobState::Buried:
      return tube.buried.holds(job);
    case JobState::Reserved:
      break;
  }
  return conns_.at(job.place.holder)->reserved.holds(job);
}

Image State::image() const {
  Image image;
  image.id_limit = id_limit_;
  const auto add = [&](const Job& job) { image.jobs.emplace(job.id, row_of(job)); };
  for (const Tube* tube : tube_list_) {
    tube->ready.for_each(add);
    if (tube->groups) tube->groups->for_each_behind(add);
    tube->delayed.for_each(add);
    tube->buried.for_each(add);
    if (tube->stored) image.tubes.emplace(tube->id, tube->name);
    if (tube->paused()) image.pauses[tube->id] = {tube->pause, tube->pause_until};
  }
  for (const auto& [id, conn] : conns_) conn->reserved.for_each(add);
  keys_.for_each([&image](const KeyTable::Name& name, const KeyTable::Entry& entry) {
    image.keys[{name.tube, name.key}] = {name.tube, name.key, entry.job, entry.until,
                                         entry.expires_at};
  });
  for (const auto& [name, settings] : settings_) image.settings.emplace(name, settings);
  return image;
}

void State::check() const {
  check_jobs();
  check_tubes();
  check_conns();
}

void State::check_jobs() const {
  const Image all = image();
  CHECK(all.jobs.size() == jobs_.size());
  StateCounts counts;
  uint64_t body_bytes = 0;
  for (const auto& [id, row] : all.jobs) {
    const Job* const job = *jobs_.find(id);
    CHECK(job->id == id);
    CHECK(is_in_its_heap(*job));
    CHECK(id < next_id_);
    const bool is_waiting = job->state == JobState::Delayed || job->state == JobState::Buried;
    CHECK(!is_waiting || job->place.holder == 0);
    CHECK(job->state != JobState::Ready ||
          static_cast<Nanos>(job->order) <= std::max(turn_.now(), restored_at_));
    CHECK(job->state != JobState::Buried || job->order < next_bury_order_);
    counts.ready += job->state == JobState::Ready;
    counts.urgent += job->state == JobState::Ready && job->priority < urgent_priority_limit;
    counts.reserved += job->state == JobState::Reserved;
    counts.delayed += job->state == JobState::Delayed;
    counts.buried += job->state == JobState::Buried;
    body_bytes += job->body_bytes;
  }
  CHECK(body_bytes == body_bytes_);
  check_fields(all);
  check_groups(all);
  CHECK(counts.ready == counts_.ready);
  CHECK(counts.urgent == counts_.urgent);
  CHECK(counts.reserved == counts_.reserved);
  CHECK(counts.delayed == counts_.delayed);
  CHECK(counts.buried == counts_.buried);
}

// Each job with fields has them in the table, and no other. Each key that is held without an end is
// that of a job that has not given it up, and each such job holds its key.
void State::check_fields(const Image& all) const {
  size_t with_fields = 0;
  size_t expiring = 0;
  for (const auto& [id, row] : all.jobs) {
    with_fields += row.fields ? 1 : 0;
    if (!row.fields) continue;
    CHECK(*row.fields != JobFields());
    const Job& job = **const_cast<State*>(this)->jobs_.find(id);
    if (const Nanos at = expiry_of(job)) {
      ++expiring;
      CHECK(expiries_.contains({at, id}));
    }
    const auto& key = row.fields->key;
    if (!key || key->given_up || key->until == KeyUntil::Ttl) continue;
    const KeyTable::Entry* const entry = keys_.find(tube_of(row.tube).name, key->key);
    CHECK(entry != nullptr && entry->job == id && entry->expires_at == 0);
  }
  CHECK(fields_.size() == with_fields);
  CHECK(expiries_.size() == expiring);
  for (const auto& [name, key] : all.keys) {
    if (key.expires_at > 0) continue;
    const auto job = all.jobs.find(key.job);
    CHECK(job != all.jobs.end() && job->second.fields && job->second.fields->key);
    CHECK(job->second.fields->key->key == key.key && !job->second.fields->key->given_up);
  }
}

void State::check_groups(const Image& all) const {
  absl::flat_hash_map<TubeId, absl::btree_map<std::string, uint64_t>> reserved;
  for (const auto& [id, row] : all.jobs) {
    if (row.state != JobState::Reserved || !row.fields || !row.fields->concurrency) continue;
    ++reserved[row.tube][row.fields->concurrency->key];
  }
  uint64_t parked = 0;
  for (const auto& [id, row] : all.jobs) {
    parked += is_parked(**const_cast<State*>(this)->jobs_.find(id)) ? 1 : 0;
  }
  CHECK(parked == jobs_parked_);
  for (const Tube* const tube : tube_list_) {
    CHECK(tube->groups != nullptr || !reserved.contains(tube->id));
    if (!tube->groups) continue;
    tube->groups->check(reserved[tube->id],
                        [this](const Job& job) { return concurrency_of(job)->jobs_max; });
    parked -= tube->parked_count();
  }
  CHECK(parked == 0);
}

void State::check_tubes() const {
  size_t tubes_delayed = 0;
  size_t tubes_paused = 0;
  size_t reserved = 0;
  size_t urgent = 0;
  size_t name_bytes = 0;
  size_t measured = 0;
  size_t apart = 0;
  for (size_t i = 0; i < tube_list_.size(); ++i) {
    const Tube& tube = *tube_list_[i];
    CHECK(tube.list_index == i);
    CHECK(&tube_of(tube.id) == &tube);
    CHECK(tubes_by_name_.find(tube.name) == &tube);
    CHECK(tube.id == 0 || tube.referenced());
    CHECK(tube.stored || tube.job_count() == 0);
    CHECK(tube.stored || !tube.paused());
    CHECK(tube.paused() || !tube.has_servable() || tube.waiting.empty());
    CHECK(has_ready_[tube.id] == (!tube.paused() && tube.has_servable()));
    CHECK(tube.rate_spent == (tube.rate_index != not_in_heap));
    CHECK(!buckets_.contains(tube.name));
    CHECK((tube.settings ? *tube.settings : TubeSettings()) == settings_of(tube.name));
    tube.ready.check();
    CHECK(tube.ready_order.check(pool_) == tube.ready_count());
    apart += tube.ready_order.apart();
    tube.delayed.check();
    tube.buried.check();
    tubes_delayed += !tube.delayed.empty();
    tubes_paused += tube.paused();
    reserved += tube.reserved.size();
    for (const auto& [id, since] : tube.reserved) {
      CHECK(since <= turn_.now());
      const Job* const job = *jobs_.find(id);
      CHECK(job->state == JobState::Reserved && job->tube == tube.id);
    }
    if (tube.times != nullptr) {
      ++measured;
      const auto& records = measured_tubes_.records();
      CHECK(std::ranges::any_of(
          records, [&](const auto& each) { return &each.second.times == tube.times; }));
    }
    urgent += tube.urgent_count;
    name_bytes += tube.name.size();
  }
  CHECK(buckets_.size() <= limits_.tubes_max);
  CHECK(name_bytes == name_bytes_);
  CHECK(apart == ready_apart_);
  CHECK(measured_tubes_.records().size() <= limits_.measured_max);
  const auto alone = std::ranges::count_if(measured_tubes_.records(),
                                           [](const auto& each) { return !each.second.is_group; });
  CHECK(static_cast<size_t>(alone) <= measured);
  CHECK(tubes_by_name_.size() == tube_list_.size());
  CHECK(tubes_by_delay_.size() == tubes_delayed);
  CHECK(tubes_by_pause_.size() == tubes_paused);
  CHECK(tube_list_.size() + free_tube_ids_.size() == tubes_.size());
  CHECK(reserved == counts_.reserved);
  CHECK(urgent == counts_.urgent);
  tubes_by_delay_.check();
  tubes_by_pause_.check();
}

void State::check_conns() const {
  uint64_t open = 0;
  uint64_t producers = 0;
  uint64_t workers = 0;
  uint64_t waiting = 0;
  size_t watched_bytes = 0;
  absl::flat_hash_map<TubeId, uint64_t> used;
  absl::flat_hash_map<TubeId, uint64_t> watched;
  absl::flat_hash_map<TubeId, uint64_t> waited;
  for (const auto& [id, conn] : conns_) {
    CHECK(conn->id == id);
    conn->reserved.check();
    watched_bytes += conn->watched.memory_bytes();
    const bool timed = !conn->closing && (!conn->reserved.empty() || conn->wait_until);
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
  CHECK(open == connections_);
  CHECK(producers == producers_);
  CHECK(workers == workers_);
  CHECK(waiting == waiting_);
  CHECK(watched_bytes == watched_bytes_);
  for (const Tube* tube : tube_list_) {
    CHECK(tube->using_count == used[tube->id]);
    CHECK(tube->watching_count == watched[tube->id]);
    CHECK(tube->waiting.size() == waited[tube->id]);
  }
  conns_by_deadline_.check();
}

}  // namespace perennial::engine
