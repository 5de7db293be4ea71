#include "cmd/common/calendar/system_calendar.h"

#include <variant>

#include <xxhash.h>

#include "cmd/common/calendar/cron.h"
#include "cmd/common/calendar/occurrences.h"
#include "cmd/common/calendar/zone.h"
#include "engine/types/check.h"

namespace perennial::calendar {
namespace {

struct FindNext {
  Nanos after;

  Calendar::Next operator()(const ScheduleEvery& every) const {
    return {.at = next_after(every.period, every.anchor.value(), after)};
  }
  Calendar::Next operator()(const ScheduleCron& when) const {
    const auto zone = find_zone(when.zone);
    if (!zone.ok()) return {.zone_is_known = false};
    const auto cron = Cron::parse(when.expression);
    if (!cron.ok()) return {};
    return {.at = next_after(*cron, *zone, after)};
  }
  Calendar::Next operator()(const ScheduleAt& at) const {
    if (at.time <= after) return {};
    return {.at = at.time};
  }
};

}  // namespace

Calendar::Next SystemCalendar::next_after(const ScheduleWhen& when, Nanos after) const {
  return std::visit(FindNext{after}, when);
}

Nanos SystemCalendar::offset(std::string_view name, Nanos jitter) const {
  CHECK(jitter > 0);
  return static_cast<Nanos>(XXH3_64bits(name.data(), name.size()) % static_cast<uint64_t>(jitter));
}

}  // namespace perennial::calendar
