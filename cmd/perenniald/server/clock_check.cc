#include "cmd/perenniald/server/clock_check.h"

#include <algorithm>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace perennial::perenniald {
namespace {

constexpr Nanos day = 86'400 * nanos_per_second;

}  // namespace

// A reserved job is given back first, and expires then. A buried one does not expire.
void ClockCheck::job(const JobRow& row) {
  const bool may_expire = row.state != JobState::Buried && row.fields;
  if (may_expire && row.fields->expires_at > 0 && is_between(row.fields->expires_at)) ++expiries_;
  if (row.state == JobState::Delayed && is_between(static_cast<Nanos>(row.order))) ++delays_;
}

void ClockCheck::key(const KeyStored& key) {
  if (key.expires_at > 0 && is_between(key.expires_at)) ++keys_;
}

void ClockCheck::pause(const TubePaused& pause) {
  if (is_between(pause.until)) ++pauses_;
}

// No start reads when each of them ended. All did so by the newest batch, so that they are over
// together if their time is shorter than the step of the clock.
void ClockCheck::ended(uint64_t jobs, std::optional<Nanos> keep) {
  if (keep && *keep <= clock_ - last_) ended_ += jobs;
}

bool ClockCheck::needs_rows(const ClockBounds& bounds) const {
  return last_ != 0 && bounds.ahead_max != 0 && clock_ - last_ > bounds.ahead_max &&
         !bounds.is_accepted;
}

ClockCheck::Verdict ClockCheck::verdict(const ClockBounds& bounds) const {
  if (last_ == 0) return Verdict::Fits;
  if (last_ - clock_ > bounds.behind_max) return Verdict::Behind;
  const Nanos ahead = clock_ - last_;
  if (bounds.ahead_max == 0 || ahead <= std::min(day, bounds.ahead_max)) return Verdict::Fits;
  const bool ends_something = expiries_ + keys_ + delays_ + pauses_ + ended_ > 0;
  return needs_rows(bounds) && ends_something ? Verdict::Refused : Verdict::Ahead;
}

std::string ClockCheck::ends_text() const {
  return fmt::format(
      "jobs that expire: {}, keys that end: {}, delays that end: {}, pauses that end: {}, "
      "ended jobs that go: {}",
      expiries_, keys_, delays_, pauses_, ended_);
}

std::string ClockCheck::refusal(const ClockBounds& bounds) const {
  return fmt::format(
      "the clock says {}, {} days after the newest batch, which is of {}; more than {} days "
      "(clock_ahead_days_max) are not believed where something would end by them. {}. Nothing was "
      "changed. If the clock is wrong, set it. If it is right, start once with --accept-clock",
      date_text(clock_), (clock_ - last_) / day, date_text(last_), bounds.ahead_max / day,
      ends_text());
}

std::string date_text(Nanos time) {
  const std::time_t seconds = time / nanos_per_second;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}Z", fmt::gmtime(seconds));
}

}  // namespace perennial::perenniald
