#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "engine/types/basic.h"

// Notices that the disk does not answer any more. A sync that hangs cannot be given up from within,
// so all that is left is to end the process and let a supervisor act.
namespace perennial::perenniald {

// Whether there is work that has not ended, and a number that changes when some begins or ends.
struct WorkSeen {
  bool busy = false;
  uint64_t progress = 0;
};

// Adds up for how long the same piece of work has been seen. Pure.
class StallCounter {
 public:
  // However long ago the last look was, it counts as this at most: a process that was stopped, or
  // a machine that slept, is not to blame.
  static constexpr Nanos look_counts_max = nanos_per_second / 2;

  // Returns for how long it has been stuck.
  Nanos look(const WorkSeen& seen, Nanos since_last_look);

 private:
  WorkSeen last_;
  Nanos stuck_ = 0;
};

// Looks several times a second, on a thread of its own, from its construction to its end.
class Watchdog {
 public:
  // Both functions are called on that thread. `stalled` is called once the same work has been seen
  // for `stall_max`, and should not return.
  Watchdog(Nanos stall_max, std::function<WorkSeen()> look, std::function<void()> stalled);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run();

  const Nanos stall_max_;
  const std::function<WorkSeen()> look_;
  const std::function<void()> stalled_;
  std::mutex mutex_;  // For stopping_ and its signal.
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;  // Last, so that it starts when all else is there.
};

}  // namespace perennial::perenniald
