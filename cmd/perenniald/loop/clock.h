#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <optional>

#include "cmd/perenniald/loop/loop_lag.h"
#include "engine/types/basic.h"
#include "engine/types/histogram.h"
#include "engine/types/later.h"

namespace perennial::perenniald {

// The time of the loop: the wall clock at the start, or what the newest batch or the cluster says,
// plus the steady time since. So it never goes back, and a change of the wall clock triggers no
// deadline. It is read once per turn, when first
// asked for, and stands still until end_turn(). Core and the loop decide by this clock only. Other
// threads measure durations: with steady(), the store with the clock in its options, and the
// watchdog, which observes the loop from outside, with its own.
class TurnClock {
 public:
  TurnClock() : start_(wall()), steady_start_(steady()) {}

  // Nanoseconds for measuring durations, on any thread. It is no time of day.
  static Nanos steady() {
    const auto time = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  }

  // The time of this moment, if nothing was continued. Another thread may call it while the loop
  // uses all of the others but set() and continue_from().
  Nanos at_this_moment() const { return at(steady()); }
  // At `steady_time` it was `time`. Nothing that decides about jobs has used the clock before.
  void set(Nanos time, Nanos steady_time) {
    start_ = std::max<Nanos>(time - (steady_time - steady_start_), 0);
  }
  // Continues from `last`, if it is not as late yet. Nothing that decides about jobs has used the
  // clock before. `last` is a time of this moment or of an earlier one, so the time since the
  // start, which a standby may have spent following, is not added to it.
  void continue_from(Nanos last) { start_ = later(start_, std::max<Nanos>(last - now(), 0)); }

  Nanos now() {
    if (!turn_start_) begin_turn();
    return at(*turn_start_);
  }

  // What the wall clock shows: nanoseconds since the epoch, which may go back and forth. Like now()
  // it is read once per turn.
  Nanos wall_now() {
    const Nanos time = now();
    const bool is_believed = !wall_off_max_ || std::abs(turn_wall_ - time) <= *wall_off_max_;
    return is_believed ? turn_wall_ : time;
  }
  // From here on a wall clock that differs by more from the time of the loop is not believed, and
  // that time counts. In a cluster many machines agree on it.
  void believe_wall_within(Nanos off_max) { wall_off_max_ = off_max; }

  // The time of this moment, which does not stand still. It reads the clock each time.
  Nanos actual() {
    now();  // Begins the turn, if nothing has yet.
    return at_this_moment();
  }

  // How long this turn has taken so far. Unlike now() it does not stand still.
  Nanos turn_so_far() const { return turn_start_ ? steady() - *turn_start_ : 0; }

  // When the present turn began, by steady(). 0: there is none, because the loop blocks. Any
  // thread, for a watchdog.
  Nanos turn_began() const { return turn_began_.load(std::memory_order_relaxed); }

  // Nanoseconds since the start.
  Nanos uptime() {
    now();
    return *turn_start_ - steady_start_;
  }

  // The loop is about to block.
  void end_turn() {
    if (!turn_start_) return;
    const Nanos end = steady();
    lag_.on_turn(*turn_start_, end);
    last_turn_ = end - *turn_start_;
    turns_.record_time(last_turn_);
    turn_start_.reset();
    turn_began_.store(0, std::memory_order_relaxed);
  }

  // How long the turn before this one took. 0: this is the first one.
  Nanos last_turn() const { return last_turn_; }
  // How long the turns took, each until the loop blocked.
  const LatencyHistogram& turns() const { return turns_; }
  // The longest turn of the last seconds, without the present one.
  Nanos lag() { return lag_.longest(steady()); }

 private:
  // No row has a time before the epoch.
  static Nanos wall() {
    const auto time = std::chrono::system_clock::now().time_since_epoch();
    return std::max<Nanos>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(), 0);
  }
  Nanos at(Nanos steady_time) const { return later(start_, steady_time - steady_start_); }

  void begin_turn() {
    turn_start_ = steady();
    turn_wall_ = wall();
    turn_began_.store(*turn_start_, std::memory_order_relaxed);
  }

  Nanos start_;  // The time of steady_start_.
  Nanos steady_start_;
  std::atomic<Nanos> turn_began_ = 0;
  std::optional<Nanos> turn_start_;
  Nanos turn_wall_ = 0;
  std::optional<Nanos> wall_off_max_;  // None: it is always believed.
  LoopLag lag_;
  Nanos last_turn_ = 0;
  LatencyHistogram turns_;
};

}  // namespace perennial::perenniald
