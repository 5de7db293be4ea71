#include "engine/tables/rate_table.h"

#include <algorithm>

#include "engine/types/later.h"

namespace perennial::engine {
namespace {

bool has_rate(const Tube& tube) {
  return tube.settings && tube.settings->rate;
}

// The time between two reservations at an even pace.
Nanos interval_of(const Rate& rate) {
  return std::max<Nanos>(rate.period / rate.jobs, 1);
}

}  // namespace

// A bucket that is not kept is full. But that of a rate from the configuration was there at the
// restart, whatever the name of its tube, and none of those is kept.
void RateTable::begin(Tube& tube, bool is_default, Nanos now) {
  std::optional<Nanos> full_at = buckets_.take(tube.name);
  if (!has_rate(tube)) return;
  if (!full_at && is_default && restored_at_ > 0) {
    full_at = later(restored_at_, tube.settings->rate->period);
  }
  if (!full_at || *full_at <= now) return;
  tube.rate_full_at = *full_at;
  refill_later(tube, now);
}

void RateTable::end(Tube& tube, Nanos now) {
  if (has_rate(tube)) buckets_.keep(tube.name, *tube.settings->rate, tube.rate_full_at, now);
  if (tube.rate_index != not_in_heap) spent_.remove(tube);
}

void RateTable::reset(Tube& tube) {
  if (tube.rate_index != not_in_heap) spent_.remove(tube);
  tube.rate_spent = false;
  tube.rate_full_at = 0;
}

void RateTable::take(Tube& tube, Nanos now) {
  if (!has_rate(tube)) return;
  tube.rate_full_at = later(std::max(tube.rate_full_at, now), interval_of(*tube.settings->rate));
  refill_later(tube, now);
}

void RateTable::empty(Tube& tube, Nanos now) {
  if (!has_rate(tube)) return;
  tube.rate_full_at = later(restored_at_, tube.settings->rate->period);
  refill_later(tube, now);
}

void RateTable::keep_empty(const std::string& tube, const Rate& rate, Nanos now) {
  buckets_.keep(tube, rate, later(restored_at_, rate.period), now);
}

void RateTable::refill_later(Tube& tube, Nanos now) {
  const Rate& rate = *tube.settings->rate;
  const Nanos next_at = tube.rate_full_at - static_cast<Nanos>(rate.jobs - 1) * interval_of(rate);
  // Only a Tick ends the wait for the next token, and serves the connections that wait for it.
  tube.rate_spent = tube.rate_spent || next_at > now;
  if (tube.rate_index != not_in_heap) spent_.remove(tube);
  if (tube.rate_spent) spent_.push(static_cast<uint64_t>(next_at), tube.id, tube);
}

Tube* RateTable::take_refilled(Nanos now) {
  if (spent_.empty() || static_cast<Nanos>(spent_.top().key) > now) return nullptr;
  Tube& tube = *spent_.top().item;
  spent_.remove(tube);
  tube.rate_spent = false;
  return &tube;
}

std::optional<Nanos> RateTable::soonest() const {
  if (spent_.empty()) return std::nullopt;
  return static_cast<Nanos>(spent_.top().key);
}

}  // namespace perennial::engine
