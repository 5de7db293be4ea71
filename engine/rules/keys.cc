#include "engine/rules/keys.h"

#include "engine/types/later.h"

namespace perennial::engine {
namespace {

void store_key(State& state, const std::string& tube, const std::string& key,
               const KeyTable::Entry& entry) {
  state.keys.store(tube, key, entry);
  state.turn.emit(KeyStored{tube, key, entry.job, entry.until, entry.expires_at});
}

}  // namespace

Nanos held_until(const JobKey& key, Nanos created) {
  return later(created, static_cast<Nanos>(key.seconds) * nanos_per_second);
}

bool is_duplicate(const State& state, const std::string& name, const Put& put) {
  return put.options && put.options->key &&
         state.keys.find_taken(name, put.options->key->key, state.turn.now()) != nullptr;
}

bool holds_key_of(const State& state, const Job& job, const std::string& name, const Put& put) {
  if (!put.options || !put.options->key) return false;
  const JobFields* const fields = state.fields.of(job);
  if (fields == nullptr || !fields->key || fields->key->given_up) return false;
  if (fields->key->key != put.options->key->key || state.tube_of(job).name != name) return false;
  const KeyTable::Entry* const entry = state.keys.find(name, fields->key->key);
  return entry != nullptr && entry->job == job.id;
}

std::optional<Duplicate> find_duplicate(State& state, const std::string& name, const Put& put) {
  if (!put.options || !put.options->key) return std::nullopt;
  const KeyTable::Entry* const entry =
      state.keys.find_taken(name, put.options->key->key, state.turn.now());
  if (entry == nullptr) return std::nullopt;
  ++state.counters.jobs_duplicate;
  if (Tube* const tube = state.tubes.find(name)) ++tube->jobs_duplicate;
  const Job* const holder = state.jobs.find(entry->job);
  Duplicate duplicate = {.id = entry->job, .state = {}};
  if (holder != nullptr) duplicate.state = holder->state;
  return duplicate;
}

void hold_key(State& state, const Job& job) {
  const JobFields* const fields = state.fields.of(job);
  if (fields == nullptr || !fields->key) return;
  const JobKey& key = *fields->key;
  store_key(state, state.tube_of(job).name, key.key,
            {.job = job.id,
             .until = key.until,
             .expires_at = key.until == KeyUntil::Ttl ? held_until(key, job.created) : 0});
}

void end_key(State& state, Job& job, KeyEnd key_end) {
  const JobFields* const fields = state.fields.of(job);
  if (fields == nullptr || !fields->key || fields->key->given_up) return;
  const JobKey& key = *fields->key;
  const std::string& tube = state.tube_of(job).name;
  const KeyTable::Entry* const entry = state.keys.find(tube, key.key);
  if (entry == nullptr || entry->job != job.id) return;
  if (key_end == KeyEnd::Free || (key.seconds == 0 && key.until != KeyUntil::Ttl)) {
    return free_key(state, tube, key.key);
  }
  if (key.until == KeyUntil::Ttl) return;  // It stays taken for as long as it was asked for.
  const Nanos length = static_cast<Nanos>(key.seconds) * nanos_per_second;
  store_key(state, tube, key.key,
            {.job = job.id, .until = key.until, .expires_at = later(state.turn.now(), length)});
}

void give_up_key(State& state, Job& job) {
  JobFields* const fields = state.fields.of(job);
  if (fields == nullptr || !fields->key) return;
  if (fields->key->until != KeyUntil::Reserved || fields->key->given_up) return;
  end_key(state, job, KeyEnd::Cooldown);
  fields->key->given_up = true;
}

void free_key(State& state, const std::string& tube, const std::string& key) {
  state.keys.erase(tube, key);
  state.turn.emit_counted(KeyFreed{tube, key});
}

}  // namespace perennial::engine
