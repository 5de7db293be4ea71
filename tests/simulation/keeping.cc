#include "tests/simulation/keeping.h"

#include <algorithm>

namespace perennial::simulation {
namespace {

int64_t position(OpId op) {
  return static_cast<int64_t>(op);
}

}  // namespace

void Keeping::set_sent(const SetTube& set, OpId op, Nanos now) {
  std::vector<Setting>& settings = settings_[set.tube];
  // At first nothing is kept.
  if (settings.empty())
    settings.push_back({.place = {.to = never}, .at = {.to = never}, .answered = 0});
  Setting& setting = settings.emplace_back();
  setting.place = {.from = position(op), .to = never, .op = op};
  setting.at = {.from = now, .to = never, .op = op};
  if (set.keep.value) setting.keep = set.keep.value->nanos;
  if (set.keep_max.value) setting.keep_max = set.keep_max.value->value;
}

// It replaces those that were answered before it was sent. Others may come before or behind it.
void Keeping::set_answered(const std::string& tube, OpId op, bool is_set, OpId place, Nanos now) {
  std::vector<Setting>& settings = settings_[tube];
  if (!is_set) {
    std::erase_if(settings, [op](const Setting& one) { return one.place.op == op; });
    return;
  }
  for (Setting& one : settings) {
    if (one.place.op == op) {
      one.answered = position(place);
    } else if (one.answered <= position(op) && one.place.to == never) {
      one.place.to = position(place);
      one.at.to = now;
    }
  }
}

void Keeping::end_sent(const std::string& tube, OpId op, Nanos now, uint64_t most) {
  ends_[tube].push_back({.place = {.from = position(op), .to = never, .op = op},
                         .at = {.from = now, .to = never, .op = op},
                         .least = 0,
                         .most = most});
}

void Keeping::may_expire(const std::string& tube, OpId op, Nanos at) {
  ends_[tube].push_back({.place = {.from = position(op), .to = never, .op = op},
                         .at = {.from = at, .to = never, .op = op},
                         .least = 0,
                         .most = 1,
                         .is_expiry = true});
}

void Keeping::end_answered(const std::string& tube, OpId op, uint64_t count, OpId place,
                           Nanos now) {
  std::vector<Ends>& ends = ends_[tube];
  for (Ends& one : ends) {
    if (one.place.op != op) continue;
    // Where the tube may not have kept them, they may have taken no places.
    const bool are_kept = !may_drop(tube, op, one.at.from);
    one.least = are_kept ? count : 0;
    one.most = count;
    one.place.to = position(place);
    one.at.to = now;
  }
  if (count == 0) std::erase_if(ends, [op](const Ends& one) { return one.place.op == op; });
}

void Keeping::never_answered(OpId op, OpId place, Nanos now) {
  for (auto& [tube, settings] : settings_) {
    for (Setting& one : settings) {
      if (one.place.op == op) one.answered = position(place);
    }
  }
  for (auto& [tube, ends] : ends_) {
    for (Ends& one : ends) {
      if (one.place.op != op || one.is_expiry) continue;
      one.place.to = position(place);
      one.at.to = now;
    }
  }
}

void Keeping::crashed(bool loses_unsynced, OpId place, Nanos now) {
  for (auto& [tube, settings] : settings_) {
    for (Setting& one : settings) {
      one.answered = std::min(one.answered, position(place));
      // What replaced it may be lost.
      if (loses_unsynced && one.place.to >= durable_) one.place.to = one.at.to = never;
    }
  }
  for (auto& [tube, ends] : ends_) {
    for (Ends& one : ends) {
      if (loses_unsynced && one.place.to >= durable_) one.least = 0;
      if (one.is_expiry || one.place.to != never) continue;
      one.place.to = position(place);
      one.at.to = now;
    }
  }
}

bool Keeping::any_setting(const std::string& tube, int64_t place, Nanos at,
                          const std::function<bool(const Setting&)>& holds) const {
  const auto found = settings_.find(tube);
  if (found == settings_.end()) return holds(Setting{});
  return std::ranges::any_of(found->second, [&](const Setting& one) {
    return one.place.to > place && one.at.to >= at && holds(one);
  });
}

bool Keeping::may_keep(const std::string& tube, OpId place, Nanos at) const {
  return any_setting(tube, position(place), at, [](const Setting& one) { return one.keeps(); });
}

bool Keeping::may_drop(const std::string& tube, OpId place, Nanos at) const {
  return any_setting(tube, position(place), at, [](const Setting& one) { return !one.keeps(); });
}

bool Keeping::may_be_over(const std::string& tube, const Ending& ending, Nanos now) const {
  return any_setting(tube, ending.place.from, ending.at.from, [&](const Setting& one) {
    if (!one.keeps()) return true;
    if (one.keep && std::min(now, one.at.to) - ending.at.from >= *one.keep) return true;
    return one.keep_max && most_behind(tube, ending) >= *one.keep_max;
  });
}

bool Keeping::surely_over(const std::string& tube, const Ending& ending, OpId place,
                          Nanos at) const {
  return !any_setting(tube, position(place), at, [&](const Setting& one) {
    if (!one.keeps()) return false;
    if (one.keep && ending.at.to != never && at - ending.at.to >= *one.keep) return false;
    return !(one.keep_max && least_behind(tube, ending, place) >= *one.keep_max);
  });
}

// Those of the same command have no order here.
uint64_t Keeping::most_behind(const std::string& tube, const Ending& ending) const {
  const auto found = ends_.find(tube);
  if (found == ends_.end()) return 0;
  uint64_t count = 0;
  for (const Ends& one : found->second) {
    if (one.place.op == ending.place.op) {
      count += one.most - 1;
    } else if (one.place.to > ending.place.from && one.at.to >= ending.at.from) {
      count += one.most;
    }
  }
  return count;
}

uint64_t Keeping::least_behind(const std::string& tube, const Ending& ending, OpId place) const {
  const auto found = ends_.find(tube);
  if (found == ends_.end()) return 0;
  uint64_t count = 0;
  for (const Ends& one : found->second) {
    const bool is_behind = one.place.from >= ending.place.to && one.place.to <= position(place);
    if (is_behind && one.place.op != ending.place.op) count += one.least;
  }
  return count;
}

}  // namespace perennial::simulation
