#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/types/basic.h"

// Whose clock counts in a cluster. Delays, expiries, keys and pauses end by the engine's time,
// which is handed on from leader to leader: each node publishes every second what it knows of it,
// and the next leader continues from that. The wall clock of a machine decides only if no node
// knows the cluster's time; otherwise it moves the time forward by a bounded step at most. So an
// error of one machine does not become the time of the cluster. All times are in nanoseconds.
// Points in time are those of Executor::now(), which never jumps; wall clocks count from the epoch.
namespace perennial::store::cluster {

// The cluster's time as one node knows it: the time of the newest leader that it has learned of.
class ClusterTime {
 public:
  // How fast two monotonic clocks may drift apart at most: one part in 5,000. Quartz is ten times
  // better; the rest is for corrections by adjtimex.
  static constexpr Nanos drift_divisor = 5'000;

  // This node has learned, at `at`, that the time was `time` under the leader of `epoch`; 0: the
  // leader is unknown, and any known epoch counts more.
  //
  // Such a time is always late: by the network, by up to the interval between two reads, and by the
  // age of a record whose node has stalled. So of two times of the same leader the later one
  // counts. A new leader may for the same reasons be behind the one before it. Then its earlier
  // time counts, because delays that clients ask for from now on count from there: whoever
  // continued by the former leader's time would end them too early.
  void on_heard(Nanos time, uint64_t epoch, Nanos at);
  // This node leads in `epoch`: at `at` the time is `time`, whatever was learned before.
  void set(Nanos time, uint64_t epoch, Nanos at);
  // The cluster's time at `now`, or a little less. None: unknown. REQUIRES: `now` is not before any
  // `at` so far.
  std::optional<Nanos> at(Nanos now) const;
  // etcd was restored from an older state, and epochs go on from there.
  void forget_epoch() { epoch_ = 0; }
  // The epoch of the leader whose time that is.
  uint64_t epoch() const { return epoch_; }

 private:
  struct Heard {
    Nanos time;
    Nanos at;
  };
  std::optional<Heard> heard_;
  uint64_t epoch_ = 0;
  bool is_exact_ = false;  // set() was called, so nothing that is learned counts any more.
};

// How a node's wall clock compares with the cluster's time or, if that is unknown, with the median
// of the wall clocks of all nodes.
struct WallClock {
  Nanos ahead = 0;  // Negative: it is behind.
  // False: the cluster's time is unknown, and the clock is ahead of the median by more than the
  // bound. So this node does not campaign.
  bool may_lead = true;
};

// The cluster's time with which a new leader begins.
struct TakeoverTime {
  Nanos time = 0;
  // It comes from a former leader. Otherwise it is the wall clock's.
  bool is_handed_on = false;
  // By how much the wall clock is ahead of the former leader's time; negative: behind.
  Nanos wall_ahead = 0;
  bool is_wall_off = false;  // By more than the bound, so the wall clock was not used.
};

// `heard`: the cluster's time now, if it is known. The wall clock `wall` is used if it is ahead of
// that by at most `offset_max`: so a cluster whose time lags is corrected at a takeover.
TakeoverTime takeover_time(std::optional<Nanos> heard, Nanos wall, Nanos offset_max);

// By how much `wall` is ahead of the median of it and `others`, the wall clocks of the other nodes.
// Of an even number the lower one of the two middle clocks counts. Negative: behind.
Nanos ahead_of_median(Nanos wall, std::span<const Nanos> others);

}  // namespace perennial::store::cluster
