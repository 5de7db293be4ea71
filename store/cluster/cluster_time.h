#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/types/basic.h"

// Whose clock counts in a cluster. Delays, expiries, keys and pauses end by the engine's time,
// which goes on from leader to leader: each node publishes it each second as it knows it, and the
// next leader goes on from what it has heard. A wall clock decides only at the start of a cluster
// of which nobody has heard, and else corrects the time by a bounded step forward. So no machine's
// error becomes the time of the cluster. All times are in nanoseconds; points in time are those of
// Executor::now(), which never jumps, wall clocks count from the epoch.
namespace perennial::store::cluster {

// The cluster's time as one node knows it: that of the newest leader of whom it has heard.
class ClusterTime {
 public:
  // How fast two clocks that never jump may go apart, at most: one part in 5,000. Quartz is ten
  // times better, and what corrects a clock (adjtimex) may add that much.
  static constexpr Nanos drift_divisor = 5'000;

  // At `at` this node has heard that the time was `time` under the leader of `epoch`; 0: it is not
  // known under whose, so another epoch counts more.
  //
  // What is heard is late: by the network, by up to the interval in which it is read, and by as
  // much as the record of a node that stands still is old. So of two that speak of the same leader
  // the one counts that promises more. A new leader may be behind the one before it, for the same
  // reasons, and what clients ask for counts by its time: whoever went on by that of the one before
  // would let it happen too early.
  void on_heard(Nanos time, uint64_t epoch, Nanos at);
  // This node leads in `epoch`: at `at` the time is `time`, whatever was heard.
  void set(Nanos time, uint64_t epoch, Nanos at);
  // The time at `now`, or a little less. None: nothing was heard. REQUIRES: `now` is not before
  // what was heard.
  std::optional<Nanos> at(Nanos now) const;
  // etcd was restored from an older state, and epochs go on from there.
  void forget_epoch() { epoch_ = 0; }
  // Under the leader of which epoch that is the time.
  uint64_t epoch() const { return epoch_; }

 private:
  struct Heard {
    Nanos time;
    Nanos at;
  };
  std::optional<Heard> heard_;
  uint64_t epoch_ = 0;
  bool is_exact_ = false;  // It was set.
};

// A node's wall clock, beside the cluster's time if that is known, and else beside the median of
// all nodes' wall clocks.
struct WallClock {
  Nanos ahead = 0;  // Below zero: it is behind.
  // False: nobody has handed the cluster's time on to this node, and its clock is ahead of that of
  // most by more than the bound. So it does not stand for election.
  bool may_lead = true;
};

// The time with which a node begins to lead.
struct TakeoverTime {
  Nanos time = 0;
  // A former leader has handed it on. Else the wall clock is believed.
  bool is_handed_on = false;
  // By how much the wall clock is ahead of what was heard; below zero: behind.
  Nanos wall_ahead = 0;
  bool is_wall_off = false;  // By more than the bound, so it was not used.
};

// `heard`: the cluster's time now, if it is known. The wall clock `wall` is used if it is ahead of
// it by at most `offset_max`: so a cluster whose time has fallen behind is set right at a takeover.
TakeoverTime takeover_time(std::optional<Nanos> heard, Nanos wall, Nanos offset_max);

// By how much a wall clock is ahead of the median of all, the lower one of two. Below zero: behind
// it. `others`: the wall clocks of the other nodes.
Nanos ahead_of_median(Nanos wall, std::span<const Nanos> others);

}  // namespace perennial::store::cluster
