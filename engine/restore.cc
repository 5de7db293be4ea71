// Builds the state from what was stored. What a crash interrupted is completed by ordinary
// transitions.

#include <algorithm>
#include <string>

#include "engine/state.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// The connection of the jobs that were reserved before the restart. It has no client, is closing,
// and gives the jobs back over as many turns as they need.
constexpr ConnId former_conns = 0;

Status corrupt(std::string message) {
  return {StatusCode::Corruption, std::move(message)};
}

}  // namespace

Status State::restore_tube(TubeId id, std::string_view name) {
  const std::string what = "tube " + std::to_string(id) + " named \"" + std::string(name) + "\"";
  if (id >= tube_id_limit) return corrupt(what + " has a number out of range");
  if ((id == 0) != (name == "default")) return corrupt(what + ": number 0 is that of default");
  if (id == 0) {
    tube_of(0).stored = true;
    return {};
  }
  if (find_tube(name) != nullptr) return corrupt(what + " is there under another number, too");
  if (id >= tubes_.size()) tubes_.resize(id + 1);
  if (tubes_[id] != nullptr) return corrupt(what + " has the number of another tube");
  make_tube(id, name).stored = true;
  return {};
}

Status State::restore_pause(const TubePaused& pause, Nanos now) {
  if (pause.tube >= tubes_.size() || tubes_[pause.tube] == nullptr) {
    return corrupt("a pause of tube " + std::to_string(pause.tube) + ", which is not there");
  }
  Tube& tube = tube_of(pause.tube);
  if (tube.paused()) return corrupt("two pauses of tube " + tube.name);
  if (pause.pause < 1) return corrupt("a pause of tube " + tube.name + " without a length");
  tube.pause = pause.pause;
  // A clock that was set back must not make a pause longer than it was asked to be.
  tube.pause_until = std::clamp<Nanos>(pause.until, 0, later(now, pause.pause));
  update_has_ready(tube);
  tubes_by_pause_.push(static_cast<uint64_t>(tube.pause_until), tube.id, tube);
  return {};
}

Status State::restore_job(const JobRow& row, Nanos now) {
  const std::string what = "job " + std::to_string(row.id);
  if (row.id == 0) return corrupt(what + " is no job's number");
  if (row.tube >= tubes_.size() || tubes_[row.tube] == nullptr) {
    return corrupt(what + " is in tube " + std::to_string(row.tube) + ", which is not there");
  }
  if (find_job(row.id) != nullptr) return corrupt(what + " is in two states");

  Job job = from_row(row);
  if (row.state == JobState::Delayed) {
    // For the same reason a delay is not made longer than it was asked to be.
    const Nanos rest = row.fields ? row.fields->delay_rest_ns : 0;
    const Nanos delay = static_cast<Nanos>(row.delay_s) * nanos_per_second + rest;
    job.order = std::min(row.order, static_cast<uint64_t>(later(now, delay)));
  }
  if (row.state == JobState::Buried) next_bury_order_ = std::max(next_bury_order_, row.order + 1);
  if (row.state == JobState::Reserved && !conns_.contains(former_conns)) {
    auto conn = std::make_unique<Conn>();
    conn->closing = true;
    conn->uses_tube = false;
    give_back_later(*conns_.emplace(former_conns, std::move(conn)).first->second);
  }
  is_restoring_ = true;
  Job* const kept = pool_.take(job);
  jobs_.insert(row.id, kept);
  if (row.fields) make_fields(*kept) = *row.fields;
  enter(*kept, since_restored(*kept, now));
  ++tube_of(row.tube).total_jobs;
  ++tube_of(row.tube).loaded_jobs;
  ++total_jobs_;
  ++loaded_jobs_;
  body_bytes_ += row.body_bytes;
  next_id_ = std::max(next_id_, row.id + 1);
  return {};
}

bool State::is_ready_since_put(const Job& job) const {
  return job.reserves + job.buries + job.kicks == 0 && delay_of(job) == 0;
}

// Since when a ready job counts as ready that was restored: as its row says. A row without a time
// is that of a job that was never anything but ready, or it was not written by an engine. Where
// nothing is known the job is ready since the start. The run of a reserved job does not count.
Nanos State::since_restored(const Job& job, Nanos now) const {
  if (job.state != JobState::Ready) return 0;
  if (job.order > 0) return std::min(static_cast<Nanos>(job.order), now);
  return is_ready_since_put(job) ? std::min(job.created, now) : now;
}

Status State::restore_key(const KeyStored& key, Nanos /*now*/) {
  if (keys_.find(key.tube, key.key) != nullptr) {
    return corrupt("two entries of key " + key.key + " of tube " + key.tube);
  }
  keys_.store(key.tube, key.key,
              {.job = key.job, .until = key.until, .expires_at = key.expires_at});
  return {};
}

// The tube gets its settings in finish_restore(), or when it is made.
Status State::restore_settings(const SettingsStored& settings) {
  if (!settings_.emplace(settings.tube, settings.settings).second) {
    return corrupt("two records of the settings of tube " + settings.tube);
  }
  return {};
}

Status State::finish_restore(JobId next_id, Nanos now, Output& out) {
  if (next_id < next_id_) {
    return corrupt("the next id is " + std::to_string(next_id) + ", but job " +
                   std::to_string(next_id_ - 1) + " is there");
  }
  if (Status keys = check_restored_keys(); !keys.ok()) return keys;
  next_id_ = next_id;
  id_limit_ = next_id;
  for (TubeId id = 1; id < tubes_.size(); ++id) {
    if (tubes_[id] == nullptr) free_tube_ids_.push(id);
  }
  for (Tube* const tube : tube_list_) {
    apply_settings(*tube);
    tube->ready_order.sort(pool_);
  }
  is_restoring_ = false;
  const bool is_new = next_id_ == 1 && settings_.empty();
  turn_.begin(is_new ? turn_.now() : now, true, out);
  if (!is_new) {
    restored_at_ = now;
    empty_buckets();
  }
  // The loop starts at the last tube, so that none is skipped when the last takes the place of one
  // that ends.
  for (size_t i = tube_list_.size(); i > 0; --i) end_if_unused(*tube_list_[i - 1]);
  turn_.end();
  // After a start list-tubes is ordered by the number of the tube, whichever tubes have ended.
  std::sort(tube_list_.begin(), tube_list_.end(),
            [](const Tube* a, const Tube* b) { return a->id < b->id; });
  for (size_t i = 0; i < tube_list_.size(); ++i) {
    tube_list_[i]->list_index = static_cast<uint32_t>(i);
  }
  return {};
}

}  // namespace perennial::engine
