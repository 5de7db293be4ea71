#include "engine/tables/schedule_table.h"

#include "engine/types/check.h"
#include "engine/types/later.h"

namespace perennial::engine {

std::optional<Nanos> ScheduleEntry::due() const {
  if (!progress().planned || progress().is_paused) return std::nullopt;
  return later(*progress().planned, offset);
}

const ScheduleEntry* ScheduleTable::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found != by_name_.end() ? &found->second : nullptr;
}

const ScheduleEntry* ScheduleTable::next(std::string_view after) const {
  const auto found = by_name_.upper_bound(after);
  return found != by_name_.end() ? &found->second : nullptr;
}

ScheduleTable::ByName::iterator ScheduleTable::own(const ScheduleEntry& entry) {
  const auto place = by_name_.find(entry.schedule().name);
  CHECK(place != by_name_.end());
  CHECK(&place->second == &entry);
  return place;
}

void ScheduleTable::set(const ScheduleStored& stored) {
  const auto [place, is_new] = by_name_.try_emplace(stored.schedule->name);
  ScheduleEntry& entry = place->second;
  if (!is_new) {
    leave(place);
    bytes_ -= bytes_of(entry);
  }
  const bool has_same_time = !is_new && entry.progress().planned == stored.progress.planned;
  entry.stored = stored;
  const Nanos jitter = stored.schedule->jitter;
  const Calendar* const calendar = limits_.calendar.get();
  entry.offset =
      jitter > 0 && calendar != nullptr ? calendar->offset(stored.schedule->name, jitter) : 0;
  entry.retry_at = 0;
  if (!has_same_time) entry.refused.reset();
  entry.made_up = 0;
  bytes_ += bytes_of(entry);
  enter(place);
}

void ScheduleTable::change(const ScheduleEntry& entry, const ScheduleProgress& progress,
                           uint32_t made_up) {
  const auto place = own(entry);
  leave(place);
  ScheduleEntry& changed = place->second;
  if (changed.progress().planned != progress.planned) changed.refused.reset();
  changed.stored.progress = progress;
  changed.retry_at = 0;
  changed.made_up = made_up;
  enter(place);
}

void ScheduleTable::refuse(const ScheduleEntry& entry, const ScheduleRefusal& refusal,
                           Nanos retry_at) {
  const auto place = own(entry);
  leave(place);
  place->second.retry_at = retry_at;
  place->second.refused = refusal;
  enter(place);
}

void ScheduleTable::end_refusal(const ScheduleEntry& entry) {
  const auto place = own(entry);
  leave(place);
  place->second.retry_at = 0;
  enter(place);
}

void ScheduleTable::erase(const ScheduleEntry& entry) {
  const auto place = own(entry);
  leave(place);
  bytes_ -= bytes_of(entry);
  by_name_.erase(place);
}

void ScheduleTable::enter(ByName::iterator place) {
  const ScheduleEntry& entry = place->second;
  const std::optional<Nanos> due = entry.due();
  if (!due) return;
  if (entry.retry_at > 0) {
    by_retry_.emplace(entry.retry_at, place->first);
  } else {
    by_due_.emplace(*due, place->first);
  }
}

void ScheduleTable::leave(ByName::iterator place) {
  const ScheduleEntry& entry = place->second;
  const std::optional<Nanos> due = entry.due();
  if (!due) return;
  if (entry.retry_at > 0) {
    CHECK(by_retry_.erase({entry.retry_at, place->first}) == 1);
  } else {
    CHECK(by_due_.erase({*due, place->first}) == 1);
  }
}

size_t ScheduleTable::bytes_of(const ScheduleEntry& entry) {
  constexpr size_t node_bytes = 48 + 2 * sizeof(std::string) + 80;  // Of the map and an order.
  const Schedule& schedule = entry.schedule();
  size_t bytes = sizeof(ScheduleEntry) + node_bytes + 2 * schedule.name.size();
  bytes += schedule.tube.size();
  if (const auto* const cron = std::get_if<ScheduleCron>(&schedule.when)) {
    bytes += cron->expression.size() + cron->zone.size();
  }
  if (schedule.put.options) bytes += sizeof(PutOptions) + schedule.put.options->dead.size();
  return bytes;
}

}  // namespace perennial::engine
