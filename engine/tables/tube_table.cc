#include "engine/tables/tube_table.h"

#include <algorithm>
#include <utility>

namespace perennial::engine {

TubeTable::TubeTable(const Limits& limits, Turn& turn)
    : limits_(limits),
      turn_(turn),
      settings_(limits),
      rates_(limits.tubes_max),
      measured_(limits.measured_as, limits.measured_max) {
  tubes_.emplace_back();
  make(0, "default");
}

Tube* TubeTable::find_or_make(std::string_view name) {
  if (Tube* const tube = find(name)) return tube;
  return may_make() ? &make(next_id(), name) : nullptr;
}

TubeId TubeTable::next_id() {
  if (free_ids_.empty()) {
    tubes_.emplace_back();
    return static_cast<TubeId>(tubes_.size() - 1);
  }
  const TubeId id = free_ids_.top();
  free_ids_.pop();
  return id;
}

Tube& TubeTable::make(TubeId id, std::string_view name) {
  CHECK(tubes_[id] == nullptr);
  tubes_[id] = std::make_unique<Tube>();
  Tube& tube = *tubes_[id];
  tube.id = id;
  tube.name = name;
  tube.list_index = static_cast<uint32_t>(list_.size());
  list_.push_back(&tube);
  by_name_.insert(tube);
  name_bytes_ += tube.name.size();
  if (has_ready_.size() < tubes_.size()) has_ready_.resize(tubes_.size());
  tube.times = measured_.begin(tube.name);
  apply_settings(tube);
  const TubeSettings* const set = settings_.find(tube.name);
  rates_.begin(tube, set == nullptr || !set->rate, turn_.now());
  update_has_ready(tube);
  return tube;
}

void TubeTable::store(Tube& tube) {
  if (tube.stored) return;
  tube.stored = true;
  turn_.emit(TubeStored{tube.id, tube.name});
}

void TubeTable::end_if_unused(Tube& tube) {
  // protocol.txt, "Tubes": the tube named default is always there.
  if (tube.id == 0 || tube.referenced()) return;
  if (tube.stored) turn_.emit(TubeEnded{tube.id});
  if (tube.paused()) by_pause_.remove(tube);
  rates_.end(tube, turn_.now());
  if (tube.times != nullptr) measured_.end(tube.name, tube.times);
  by_name_.erase(tube);
  Tube* const last = list_.back();
  list_[tube.list_index] = last;
  last->list_index = tube.list_index;
  list_.pop_back();
  name_bytes_ -= tube.name.size();
  const TubeId id = tube.id;
  std::unique_ptr<Tube> gone = std::move(tubes_[id]);
  // A listing in parts points to the tubes that it names, so they are kept until it is complete.
  // Copying the names of a million tubes when it begins would take longer than a turn may.
  if (ended.are_kept) ended.tubes.push_back(std::move(gone));
  free_ids_.push(id);
}

// ---- Start.

void TubeTable::restore(TubeId id, std::string_view name) {
  if (id >= tubes_.size()) tubes_.resize(id + 1);
  make(id, name).stored = true;
}

void TubeTable::restore_pause(Tube& tube, Nanos length, Nanos until) {
  tube.pause = length;
  tube.pause_until = until;
  update_has_ready(tube);
  by_pause_.push(static_cast<uint64_t>(until), tube.id, tube);
}

void TubeTable::finish_restore(bool is_new) {
  for (TubeId id = 1; id < tubes_.size(); ++id) {
    if (tubes_[id] == nullptr) free_ids_.push(id);
  }
  for (Tube* const tube : list_) apply_settings(*tube);
  if (!is_new) empty_buckets();
  // The loop starts at the last tube, so that none is skipped when the last takes the place of one
  // that ends.
  for (size_t i = list_.size(); i > 0; --i) end_if_unused(*list_[i - 1]);
  // After a start list-tubes is ordered by the number of the tube, whichever tubes have ended.
  std::sort(list_.begin(), list_.end(), [](const Tube* a, const Tube* b) { return a->id < b->id; });
  for (size_t i = 0; i < list_.size(); ++i) list_[i]->list_index = static_cast<uint32_t>(i);
}

void TubeTable::empty_buckets() {
  const Nanos now = turn_.now();
  rates_.on_restart(now);
  for (Tube* const tube : list_) {
    rates_.empty(*tube, now);
    update_has_ready(*tube);
  }
  for (const auto& [name, settings] : settings_.by_name()) {
    if (settings.rate && find(name) == nullptr) rates_.keep_empty(name, *settings.rate, now);
  }
}

// ---- Reservations and delays.

void TubeTable::on_slot_freed(const Tube& tube) {
  update_has_ready(tube);
  if (freed_slots_.empty() || freed_slots_.back() != tube.id) freed_slots_.push_back(tube.id);
}

// The list may grow while it is taken: a job that is reserved leaves its group.
Tube* TubeTable::take_freed_slot() {
  while (freed_slots_taken_ < freed_slots_.size()) {
    const TubeId id = freed_slots_[freed_slots_taken_++];
    if (tubes_[id] != nullptr) return tubes_[id].get();
  }
  freed_slots_.clear();
  freed_slots_taken_ = 0;
  return nullptr;
}

void TubeTable::schedule_delayed(Tube& tube) {
  const bool listed = tube.delayed_index != not_in_heap;
  if (tube.delayed->empty()) {
    if (listed) by_delay_.remove(tube);
    return;
  }
  const JobHeap::Entry& soonest = tube.delayed->top();
  if (listed) return by_delay_.update(soonest.key, soonest.tie, tube);
  by_delay_.push(soonest.key, soonest.tie, tube);
}

// ---- Pauses.

void TubeTable::pause(Tube& tube, Nanos length, Nanos until) {
  const bool was_paused = tube.paused();
  tube.pause = length;
  tube.pause_until = until;
  update_has_ready(tube);
  const auto key = static_cast<uint64_t>(until);
  if (was_paused) {
    by_pause_.update(key, tube.id, tube);
  } else {
    by_pause_.push(key, tube.id, tube);
  }
  store(tube);
  turn_.emit(TubePaused{tube.id, length, until});
}

void TubeTable::end_pause(Tube& tube) {
  by_pause_.remove(tube);
  tube.pause = 0;
  tube.pause_until = 0;
  update_has_ready(tube);
  turn_.emit(PauseEnded{tube.id});
}

Tube* TubeTable::first_pause_over() {
  const bool is_over = !by_pause_.empty() && static_cast<Nanos>(by_pause_.top().key) <= turn_.now();
  return is_over ? by_pause_.top().item : nullptr;
}

// ---- Settings and rates.

void TubeTable::apply_settings(Tube& tube) {
  if (settings_.has_none() && !tube.settings) return;
  TubeSettings settings = settings_.in_force(tube.name);
  const bool had_rate = tube.settings && tube.settings->rate;
  const bool same_rate = had_rate && settings.rate == tube.settings->rate;
  tube.settings.reset();
  if (settings != TubeSettings()) tube.settings = std::move(settings);
  if (!same_rate) rates_.reset(tube);
  update_has_ready(tube);
}

bool TubeTable::set(const std::string& name, const TubeSettings& settings) {
  if (!settings_.set(name, settings)) return false;
  if (Tube* const tube = find(name)) {
    apply_settings(*tube);
  } else {
    rates_.on_rate(name, settings_.in_force(name).rate);
  }
  return true;
}

void TubeTable::take_token(Tube& tube) {
  if (!tube.settings) return;
  rates_.take(tube, turn_.now());
  update_has_ready(tube);
}

Tube* TubeTable::take_refilled() {
  Tube* const tube = rates_.take_refilled(turn_.now());
  if (tube != nullptr) update_has_ready(*tube);
  return tube;
}

// ---- All together.

std::optional<Nanos> TubeTable::next_deadline(bool go_on) const {
  std::optional<Nanos> soonest = rates_.soonest();
  const auto consider = [&soonest](const auto& heap) {
    if (heap.empty()) return;
    const auto at = static_cast<Nanos>(heap.top().key);
    if (!soonest || at < *soonest) soonest = at;
  };
  if (go_on) consider(by_delay_);
  consider(by_pause_);
  return soonest;
}

size_t TubeTable::memory_bytes() const {
  constexpr size_t tube_bytes = sizeof(Tube) + 512;
  return (list_.size() + ended.tubes.size()) * tube_bytes + settings_.memory_bytes() +
         rates_.memory_bytes();
}

}  // namespace perennial::engine
