#include "cmd/common/calendar/occurrences.h"

#include "engine/types/check.h"
#include "engine/types/later.h"

namespace perennial::calendar {
namespace {

absl::Time time_of(Nanos at) {
  return absl::UnixEpoch() + absl::Nanoseconds(at);
}

std::optional<Nanos> nanos_of(absl::Time at) {
  if (at > time_of(last_time)) return std::nullopt;
  return absl::ToUnixNanos(at);
}

// The moment that this time of the calendar is.
absl::Time moment_of(const absl::TimeZone& zone, absl::CivilSecond civil) {
  const absl::TimeZone::TimeInfo info = zone.At(civil);
  return info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre;
}

// When the zone's clocks are next put forward or back, after this moment. In the far future: never.
absl::Time next_change(const absl::TimeZone& zone, absl::Time after) {
  absl::TimeZone::CivilTransition change;
  if (!zone.NextTransition(after, &change)) return absl::InfiniteFuture();
  // Where the clocks are put back the new time has been before, and else the old time never comes.
  const absl::TimeZone::TimeInfo info = zone.At(change.from < change.to ? change.from : change.to);
  return info.trans;
}

// The clocks of a zone show each second once between two changes of them.
std::optional<absl::Time> next_as_time_passes(const Cron& cron, const absl::TimeZone& zone,
                                              absl::CivilSecond from, absl::Time from_moment) {
  for (;;) {
    const absl::Time change = next_change(zone, from_moment);
    const auto civil = cron.first_from(from);
    if (!civil) return std::nullopt;
    const absl::Time found = from_moment + absl::Seconds(*civil - from);
    if (found < change) return found;
    from_moment = change;
    from = zone.At(change).cs;
  }
}

}  // namespace

std::optional<Nanos> next_after(const Cron& cron, const absl::TimeZone& zone, Nanos after) {
  const absl::Time second = absl::FromUnixSeconds(after / nanos_per_second);
  const absl::Time from = second + absl::Seconds(1);
  if (cron.has_all_hours()) {
    const auto found = next_as_time_passes(cron, zone, zone.At(from).cs, from);
    return found ? nanos_of(*found) : std::nullopt;
  }
  absl::CivilSecond civil = zone.At(second).cs;
  for (;;) {
    const auto due = cron.first_from(civil + 1);
    if (!due) return std::nullopt;
    const absl::Time moment = moment_of(zone, *due);
    if (moment > second) return nanos_of(moment);
    civil = *due;
  }
}

std::optional<Nanos> next_after(Nanos period, Nanos anchor, Nanos after) {
  CHECK(period > 0);
  if (anchor > after) return anchor - (anchor - after - 1) / period * period;
  const Nanos last = after - (after - anchor) % period;
  return last > last_time - period ? std::nullopt : std::optional(last + period);
}

}  // namespace perennial::calendar
