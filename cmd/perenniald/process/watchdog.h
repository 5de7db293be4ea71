#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/types/basic.h"

// Notices when the disk no longer answers, or when a turn of the loop does not end. A sync that
// hangs cannot be cancelled by the process, so the only remedy is to end the process and let a
// supervisor act.
namespace perennial::perenniald {

// Whether work is under way, and a number that changes whenever work begins or ends.
struct WorkSeen {
  bool busy = false;
  uint64_t progress = 0;
};

// Adds up for how long the same work was seen under way. It reads no clock.
class StallCounter {
 public:
  // The longest time that one look counts for. A process that was stopped or a machine that was
  // suspended looks late, and the disk is not the cause.
  static constexpr Nanos look_counts_max = nanos_per_second / 2;

  // Returns for how long the same work was seen, in nanoseconds.
  Nanos look(const WorkSeen& seen, Nanos since_last_look);

 private:
  WorkSeen last_;
  Nanos stuck_ = 0;
};

// Looks several times a second, on a thread of its own, from its construction to its destruction.
class Watchdog {
 public:
  // Both functions are called on that thread. `stalled` is called when the same work has been seen
  // for `stall_max`, and, if it returns, each time that so much has gone by again.
  Watchdog(Nanos stall_max, std::function<WorkSeen()> look, std::function<void()> stalled);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run();

  const Nanos stall_max_;
  const std::function<WorkSeen()> look_;
  const std::function<void()> stalled_;
  std::mutex mutex_;  // Guards stopping_.
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;  // Last, so that it starts when all other members exist.
};

}  // namespace perennial::perenniald
