// The settings of tubes: set-tube, the defaults of the configuration, and the limits that they set
// on reservations.

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/state.h"
#include "engine/types/later.h"

namespace perennial::engine {
namespace {

// Fills in the fields that are not set.
void add_defaults(TubeSettings& settings, const TubeSettings& defaults) {
  const auto add = [](auto& field, const auto& value) {
    if (!field) field = value;
  };
  add(settings.tries, defaults.tries);
  add(settings.backoff, defaults.backoff);
  add(settings.dead, defaults.dead);
  add(settings.expire, defaults.expire);
  add(settings.reserved, defaults.reserved);
  add(settings.rate, defaults.rate);
  add(settings.drain, defaults.drain);
}

bool fits(std::string_view pattern, std::string_view tube) {
  if (!pattern.ends_with('*')) return pattern == tube;
  return tube.starts_with(pattern.substr(0, pattern.size() - 1));
}

// The time between two reservations at an even pace.
Nanos interval_of(const Rate& rate) {
  return std::max<Nanos>(rate.period / rate.jobs, 1);
}

}  // namespace

TubeSettings State::settings_of(std::string_view tube) const {
  TubeSettings settings;
  const auto found = settings_.find(tube);
  if (found != settings_.end()) settings = found->second;
  const TubeDefaults* longest = nullptr;
  for (const TubeDefaults& each : limits_.tube_defaults) {
    if (each.pattern == tube) {  // The name itself goes before every pattern.
      longest = &each;
      break;
    }
    const bool is_longer = longest == nullptr || each.pattern.size() > longest->pattern.size();
    if (is_longer && fits(each.pattern, tube)) longest = &each;
  }
  if (longest != nullptr) add_defaults(settings, longest->settings);
  return settings;
}

bool State::is_draining(std::string_view tube) const {
  if (settings_.empty() && limits_.tube_defaults.empty()) return false;
  return settings_of(tube).drain.value_or(false);
}

void State::apply_settings(Tube& tube) {
  if (settings_.empty() && limits_.tube_defaults.empty() && !tube.settings) return;
  TubeSettings settings = settings_of(tube.name);
  const bool had_rate = tube.settings && tube.settings->rate;
  const bool same_rate = had_rate && settings.rate == tube.settings->rate;
  tube.settings.reset();
  if (settings != TubeSettings()) tube.settings = std::move(settings);
  if (!same_rate) {
    // A new bucket is full.
    if (tube.rate_index != not_in_heap) tubes_by_rate_.remove(tube);
    tube.rate_spent = false;
    tube.rate_full_at = 0;
  }
  update_has_ready(tube);
}

void State::run(Conn& conn, const SetTube& set) {
  const auto found = settings_.find(set.tube);
  TubeSettings settings = found == settings_.end() ? TubeSettings() : found->second;
  change_settings(settings, set);
  const bool is_new = found == settings_.end() && settings != TubeSettings();
  if (is_new && settings_.size() >= limits_.settings_max) return answer(conn, Word::OutOfMemory);
  if (settings == TubeSettings()) {
    settings_.erase(set.tube);
  } else {
    settings_[set.tube] = settings;
  }
  turn_.emit(SettingsStored{set.tube, std::move(settings)});
  answer(conn, Word::Set);
  Tube* const tube = find_tube(set.tube);
  if (tube == nullptr) return buckets_.on_rate(set.tube, settings_of(set.tube).rate);
  apply_settings(*tube);
  hand_out(*tube);
}

// ---- Limits on reservations.

// A token bucket, as the time at which it is full again: it holds `jobs` tokens, and one comes back
// in each interval.
void State::take_from_rate(Tube& tube) {
  if (!tube.settings || !tube.settings->rate) return;
  const Rate& rate = *tube.settings->rate;
  tube.rate_full_at = later(std::max(tube.rate_full_at, turn_.now()), interval_of(rate));
  refill_later(tube);
}

// A bucket that is not kept is full. But that of a rate from the configuration was there at the
// restart, whatever the name of its tube, and none of those is kept.
void State::find_bucket(Tube& tube) {
  std::optional<Nanos> full_at = buckets_.take(tube.name);
  if (!tube.settings || !tube.settings->rate) return;
  const auto set = settings_.find(tube.name);
  const bool is_default = set == settings_.end() || !set->second.rate;
  if (!full_at && is_default && restored_at_ > 0) {
    full_at = later(restored_at_, tube.settings->rate->period);
  }
  if (!full_at || *full_at <= turn_.now()) return;
  tube.rate_full_at = *full_at;
  refill_later(tube);
}

void State::keep_bucket(const Tube& tube) {
  if (!tube.settings || !tube.settings->rate) return;
  buckets_.keep(tube.name, *tube.settings->rate, tube.rate_full_at, turn_.now());
}

// Nobody knows how many were reserved just before the restart.
void State::empty_buckets() {
  for (Tube* const tube : tube_list_) {
    if (!tube->settings || !tube->settings->rate) continue;
    tube->rate_full_at = later(restored_at_, tube->settings->rate->period);
    refill_later(*tube);
  }
  for (const auto& [name, settings] : settings_) {
    if (!settings.rate || find_tube(name) != nullptr) continue;
    buckets_.keep(name, *settings.rate, later(restored_at_, settings.rate->period), turn_.now());
  }
}

void State::refill_later(Tube& tube) {
  const Rate& rate = *tube.settings->rate;
  const Nanos next_at = tube.rate_full_at - static_cast<Nanos>(rate.jobs - 1) * interval_of(rate);
  // Only a Tick ends the wait for the next token, and serves the connections that wait for it.
  tube.rate_spent = tube.rate_spent || next_at > turn_.now();
  if (tube.rate_index != not_in_heap) tubes_by_rate_.remove(tube);
  if (tube.rate_spent) tubes_by_rate_.push(static_cast<uint64_t>(next_at), tube.id, tube);
  update_has_ready(tube);
}

void State::tick_rates() {
  while (!turn_.is_over() && !tubes_by_rate_.empty()) {
    const auto& first = tubes_by_rate_.top();
    if (static_cast<Nanos>(first.key) > turn_.now()) return;
    Tube& tube = *first.item;
    tubes_by_rate_.remove(tube);
    tube.rate_spent = false;
    update_has_ready(tube);
    turn_.spend(cost::tube_left);
    hand_out(tube);
  }
}

void State::on_slot_freed(const Tube& tube) {
  update_has_ready(tube);
  if (freed_slots_.empty() || freed_slots_.back() != tube.id) freed_slots_.push_back(tube.id);
}

// The list may grow meanwhile: a job that is reserved leaves its group.
void State::serve_freed_slots() {
  for (size_t i = 0; i < freed_slots_.size(); ++i) {
    const TubeId id = freed_slots_[i];
    if (tubes_[id] != nullptr) hand_out(tube_of(id));
  }
  freed_slots_.clear();
}

}  // namespace perennial::engine
