#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/types/transition.h"

namespace perennial::perenniald {

// How far the wall clock may be from the time of the newest batch.
struct ClockBounds {
  Nanos behind_max = 60 * nanos_per_second;  // Farther behind, a start says so.
  // Farther ahead, a start is refused; from a day on it says so. 0: any time, and it says nothing.
  Nanos ahead_max = 0;
  bool is_accepted = false;  // Go on however far ahead it is.
};

// Compares the wall clock of a start with the time of the newest batch, and counts what ends
// between the two. A clock that is set wrong ends expiries, keys and delays that have years to go,
// and removes the jobs that ended and are kept; and what is over cannot be taken back. So a start
// with a clock that is too far ahead is refused, unless nothing would end or an operator has
// accepted it.
//
// A clock that is behind does no harm at once: time goes on from the newest batch. But until the
// clock has caught up, the time without a server does not count.
class ClockCheck {
 public:
  // `last`: the time of the newest batch; 0: there is none. `clock`: what the wall clock says.
  ClockCheck(Nanos last, Nanos clock) : last_(last), clock_(clock) {}

  // Whether the rows decide the verdict.
  bool needs_rows(const ClockBounds& bounds) const;
  // Every row is passed before the verdict is asked for.
  void job(const JobRow& row);
  void key(const KeyStored& key);
  void pause(const TubePaused& pause);
  // So many ended jobs of a tube, which keeps them for this time; none: for any time.
  void ended(uint64_t jobs, std::optional<Nanos> keep);

  enum class Verdict : uint8_t { Fits, Behind, Ahead, Refused };
  Verdict verdict(const ClockBounds& bounds) const;

  Nanos clock() const { return clock_; }
  Nanos last() const { return last_; }
  // How many jobs, keys and pauses the clock would end: "1 job would expire, and 2 keys ...".
  std::string ends_text() const;
  // Why the start is refused, and what to do.
  std::string refusal(const ClockBounds& bounds) const;

 private:
  bool is_between(Nanos at) const { return last_ < at && at <= clock_; }

  const Nanos last_;
  const Nanos clock_;
  uint64_t expiries_ = 0;
  uint64_t keys_ = 0;
  uint64_t delays_ = 0;
  uint64_t pauses_ = 0;
  uint64_t ended_ = 0;
};

// The time of day in UTC, to the second: 2026-11-25T15:04:05Z.
std::string date_text(Nanos time);

}  // namespace perennial::perenniald
