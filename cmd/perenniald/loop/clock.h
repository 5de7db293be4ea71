#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "cmd/perenniald/loop/loop_lag.h"
#include "engine/types/basic.h"

namespace perennial::perenniald {

// The time of the loop: the wall clock at the start plus steady time since, so that it never goes
// back and a stepped clock fires nothing. It is read once per turn, by whatever asks first, and
// stands still until end_turn(). All that core and the loop decide by time, they decide by
// this clock. Other threads only measure how long something takes: by steady(), the store by the
// clock in its options, and the watchdog, which looks at the loop from outside, by its own.
class TurnClock {
 public:
  TurnClock() : wall_start_(wall()), steady_start_(steady()) {}

  // To measure durations, on any thread. It says nothing of the time of day.
  static Nanos steady() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  }

  // Makes time go on from `now` where the wall clock is behind it, and returns the time. REQUIRES:
  // now() has not been asked yet.
  Nanos start_from(Nanos now) {
    wall_start_ = std::max(wall_start_, now);
    return wall_start_ + steady() - steady_start_;
  }

  Nanos now() {
    if (!turn_start_) turn_start_ = steady();
    return wall_start_ + *turn_start_ - steady_start_;
  }

  // How long this turn has taken. Unlike now() it does not stand still.
  Nanos turn_so_far() const { return turn_start_ ? steady() - *turn_start_ : 0; }

  // How long since the start.
  Nanos uptime() { return now() - wall_start_; }

  // The loop is about to block.
  void end_turn() {
    if (!turn_start_) return;
    lag_.on_turn(*turn_start_, steady());
    turn_start_.reset();
  }

  // The longest turn of the last seconds, without this one.
  Nanos lag() { return lag_.longest(steady()); }

 private:
  static Nanos wall() {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  }

  Nanos wall_start_;
  Nanos steady_start_;
  std::optional<Nanos> turn_start_;
  LoopLag lag_;
};

}  // namespace perennial::perenniald
