#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "engine/types/calendar.h"
#include "engine/types/later.h"

namespace perennial::support {

// A calendar for tests. It finds the times of an expression second by second. The expressions are
// no cron: "odd" is due in the seconds that 7 divides, and in each tenth second that ends in 3;
// "minute" in whole minutes; and "early" as "odd", but not after second 1,700,000,100. The zone
// "Gone" is known only to those who ask for it.
class FakeCalendar final : public Calendar {
 public:
  // `shift`: by how many seconds expressions are due later, as where a zone has changed its rules.
  explicit FakeCalendar(bool knows_gone = false, int64_t shift = 0)
      : knows_gone_(knows_gone), shift_(shift) {}

  static constexpr int64_t early_end = 1'700'000'100;

  Next next_after(const ScheduleWhen& when, Nanos after) const override {
    if (const auto* const at = std::get_if<ScheduleAt>(&when)) {
      return at->time > after ? Next{.at = at->time} : Next{};
    }
    if (const auto* const every = std::get_if<ScheduleEvery>(&when)) {
      return {.at = next_of(every->period, *every->anchor, after)};
    }
    const auto& cron = std::get<ScheduleCron>(when);
    if (cron.zone == "Gone" && !knows_gone_) return {.zone_is_known = false};
    for (int64_t second = after / nanos_per_second + 1;; ++second) {
      if (cron.expression == "early" && second > early_end) return {};
      if (is_due(cron.expression, second - shift_)) return {.at = second * nanos_per_second};
    }
  }
  Nanos offset(std::string_view name, Nanos jitter) const override {
    Nanos sum = 0;
    for (const char c : name) sum = sum * 31 + c;
    return sum * nanos_per_ms % jitter;
  }

 private:
  static bool is_due(std::string_view expression, int64_t second) {
    if (expression == "minute") return second % 60 == 0;
    return second % 7 == 0 || second % 10 == 3;
  }
  static Nanos next_of(Nanos period, Nanos anchor, Nanos after) {
    if (anchor > after) return anchor - (anchor - after - 1) / period * period;
    return after - (after - anchor) % period + period;
  }

  const bool knows_gone_;
  const int64_t shift_;
};

}  // namespace perennial::support
