#include "engine/tables/settings_table.h"

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
  add(settings.keep, defaults.keep);
  add(settings.keep_max, defaults.keep_max);
}

bool fits(std::string_view pattern, std::string_view tube) {
  if (!pattern.ends_with('*')) return pattern == tube;
  return tube.starts_with(pattern.substr(0, pattern.size() - 1));
}

}  // namespace

TubeSettings SettingsTable::in_force(std::string_view tube) const {
  const TubeSettings* const set = find(tube);
  TubeSettings settings = set != nullptr ? *set : TubeSettings();
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

const TubeSettings* SettingsTable::find(std::string_view tube) const {
  const auto found = by_name_.find(tube);
  return found != by_name_.end() ? &found->second : nullptr;
}

bool SettingsTable::set(const std::string& tube, const TubeSettings& settings) {
  if (settings == TubeSettings()) {
    by_name_.erase(tube);
    return true;
  }
  if (by_name_.size() >= limits_.settings_max && !by_name_.contains(tube)) return false;
  by_name_[tube] = settings;
  return true;
}

bool SettingsTable::restore(const std::string& tube, const TubeSettings& settings) {
  return by_name_.emplace(tube, settings).second;
}

bool SettingsTable::is_draining(std::string_view tube) const {
  return !has_none() && in_force(tube).drain.value_or(false);
}

size_t SettingsTable::memory_bytes() const {
  return by_name_.size() * (sizeof(TubeSettings) + 128);
}

}  // namespace perennial::engine
