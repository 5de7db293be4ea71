#include "engine/types/command.h"

#include <utility>

namespace perennial {
namespace {

// Options and settings hold the same values, some of them in types of their own.
uint32_t plain(const TriesOption& tries) {
  return static_cast<uint32_t>(tries.value);
}
uint32_t plain(const CountOption& count) {
  return static_cast<uint32_t>(count.value);
}
Nanos plain(const PositiveDuration& duration) {
  return duration.nanos;
}
bool plain(const YesOrNo& answer) {
  return answer.value;
}
const auto& plain(const auto& value) {
  return value;
}

template <typename Option, typename Setting>
void apply(const Change<Option>& change, std::optional<Setting>& setting) {
  if (!change.given) return;
  setting.reset();
  if (change.value) setting.emplace(plain(*change.value));
}

}  // namespace

void change_settings(TubeSettings& settings, const SetTube& set) {
  apply(set.tries, settings.tries);
  apply(set.backoff, settings.backoff);
  apply(set.dead, settings.dead);
  apply(set.expire, settings.expire);
  apply(set.reserved, settings.reserved);
  apply(set.rate, settings.rate);
  apply(set.drain, settings.drain);
  apply(set.keep, settings.keep);
  apply(set.keep_max, settings.keep_max);
}

SetTube set_tube(std::string tube, const TubeSettings& settings) {
  SetTube set{.tube = std::move(tube)};
  if (settings.tries) set.tries = {true, TriesOption{*settings.tries}};
  if (settings.backoff) set.backoff = {true, settings.backoff};
  if (settings.dead) set.dead = {true, settings.dead};
  if (settings.expire) set.expire = {true, PositiveDuration{{*settings.expire}}};
  if (settings.reserved) set.reserved = {true, CountOption{*settings.reserved}};
  if (settings.rate) set.rate = {true, settings.rate};
  if (settings.drain) set.drain = {true, YesOrNo{*settings.drain}};
  if (settings.keep) set.keep = {true, PositiveDuration{{*settings.keep}}};
  if (settings.keep_max) set.keep_max = {true, CountOption{*settings.keep_max}};
  return set;
}

SetTube replace_settings(std::string tube, const TubeSettings& settings) {
  SetTube set = set_tube(std::move(tube), settings);
  const auto take_away = [](auto&... changes) { ((changes.given = true), ...); };
  take_away(set.tries, set.backoff, set.dead, set.expire, set.reserved, set.rate, set.drain,
            set.keep, set.keep_max);
  return set;
}

}  // namespace perennial
