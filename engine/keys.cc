// Unique jobs: what becomes of a key. key_table.h holds the keys.

#include <string>
#include <string_view>
#include <utility>

#include "engine/state.h"
#include "engine/types/later.h"

namespace perennial::engine {

// An entry whose time is over is free, even before its Tick.
const KeyTable::Entry* State::taken_key(std::string_view tube, std::string_view key) const {
  const KeyTable::Entry* const entry = keys_.find(tube, key);
  const bool is_over =
      entry != nullptr && entry->expires_at > 0 && entry->expires_at <= turn_.now();
  return is_over ? nullptr : entry;
}

std::optional<Duplicate> State::find_duplicate(const std::string& name, const Put& put) {
  if (!put.options || !put.options->key) return std::nullopt;
  const KeyTable::Entry* const entry = taken_key(name, put.options->key->key);
  if (entry == nullptr) return std::nullopt;
  ++jobs_duplicate_;
  if (Tube* const tube = find_tube(name)) ++tube->jobs_duplicate;
  const Job* const holder = find_job(entry->job);
  Duplicate duplicate = {.id = entry->job, .state = {}};
  if (holder != nullptr) duplicate.state = holder->state;
  return duplicate;
}

void State::store_key(const std::string& tube, const std::string& key,
                      const KeyTable::Entry& entry) {
  keys_.store(tube, key, entry);
  turn_.emit(KeyStored{tube, key, entry.job, entry.until, entry.expires_at});
}

void State::free_key(const std::string& tube, const std::string& key) {
  keys_.erase(tube, key);
  turn_.emit_counted(KeyFreed{tube, key});
}

// The rows of jobs and keys are written together, so they differ only if some were lost.
Status State::check_restored_keys() {
  const auto damaged = [](std::string_view tube, std::string_view key, JobId job) {
    return Status(StatusCode::Corruption,
                  "key " + std::string(key) + " of tube " + std::string(tube) + " and job " +
                      std::to_string(job) + " do not fit; see perennial check");
  };
  Status status;
  keys_.for_each([&](const KeyTable::Name& name, const KeyTable::Entry& entry) {
    if (entry.expires_at > 0) return;
    const Job* const* const job = jobs_.find(entry.job);
    const JobFields* const fields = job != nullptr ? fields_of(**job) : nullptr;
    const bool fits = fields != nullptr && fields->key && fields->key->key == name.key &&
                      !fields->key->given_up && tube_of((*job)->tube).name == name.tube;
    if (!fits && status.ok()) status = damaged(name.tube, name.key, entry.job);
  });
  for (auto entry = fields_.first_from(0); entry.value != nullptr && status.ok();
       entry = fields_.first_from(entry.id + 1)) {
    const auto& key = (*entry.value)->key;
    if (!key || key->given_up || key->until == KeyUntil::Ttl) continue;
    const std::string& tube = tube_of((*jobs_.find(entry.id))->tube).name;
    const KeyTable::Entry* const found = keys_.find(tube, key->key);
    if (found == nullptr || found->job != entry.id) return damaged(tube, key->key, entry.id);
  }
  return status;
}

// A new job takes its key.
void State::hold_key(const Job& job) {
  const JobFields* const fields = fields_of(job);
  if (fields == nullptr || !fields->key) return;
  const JobKey& key = *fields->key;
  const Nanos seconds = static_cast<Nanos>(key.seconds) * nanos_per_second;
  store_key(tube_of(job.tube).name, key.key,
            {.job = job.id,
             .until = key.until,
             .expires_at = key.until == KeyUntil::Ttl ? later(turn_.now(), seconds) : 0});
}

// The job leaves. It frees only a key that is its own: one that it has given up, or whose time was
// over, may be that of a newer job.
void State::end_key(Job& job, KeyEnd key_end) {
  const JobFields* const fields = fields_of(job);
  if (fields == nullptr || !fields->key || fields->key->given_up) return;
  const JobKey& key = *fields->key;
  const std::string& tube = tube_of(job.tube).name;
  const KeyTable::Entry* const entry = keys_.find(tube, key.key);
  if (entry == nullptr || entry->job != job.id) return;
  if (key_end == KeyEnd::Free || (key.seconds == 0 && key.until != KeyUntil::Ttl)) {
    return free_key(tube, key.key);
  }
  if (key.until == KeyUntil::Ttl) return;  // It stays taken for as long as it was asked for.
  const Nanos expires_at = later(turn_.now(), static_cast<Nanos>(key.seconds) * nanos_per_second);
  store_key(tube, key.key, {.job = job.id, .until = key.until, .expires_at = expires_at});
}

// The first reservation of a job whose key is held until then.
void State::give_up_key(Job& job) {
  JobFields* const fields = fields_of(job);
  if (fields == nullptr || !fields->key) return;
  if (fields->key->until != KeyUntil::Reserved || fields->key->given_up) return;
  end_key(job, KeyEnd::Cooldown);
  fields->key->given_up = true;
}

void State::tick_keys() {
  while (!turn_.is_over()) {
    const std::optional<Nanos> soonest = keys_.soonest();
    if (!soonest || *soonest > turn_.now()) return;
    const KeyTable::Name name = keys_.first_to_expire();
    free_key(name.tube, name.key);
  }
}

}  // namespace perennial::engine
