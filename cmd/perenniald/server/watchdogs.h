#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cmd/perenniald/config/config.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/net/threads/io_threads.h"
#include "cmd/perenniald/process/watchdog.h"
#include "engine/types/basic.h"
#include "store/commit/log.h"
#include "store/store.h"

namespace perennial::perenniald {

// Threads that notice when the disk, the loop or a thread that moves bytes does not answer any
// more. A disk that stalls for stall_seconds_max ends the process. A turn that lasts for
// turn_seconds_max is logged.
class Watchdogs {
 public:
  // Both outlive this.
  Watchdogs(const Config& config, const TurnClock& clock) : config_(config), clock_(clock) {}

  // The log outlives this, or watch_closing() or end_of_store() comes before its end.
  void watch_log(const store::Log& log);
  // Watches the close of the store, in place of the log. From here on everything that was promised
  // is in the log, so a close that hangs may be ended. The store outlives this, or end_of_store()
  // comes before its end.
  void watch_closing(const store::Store& store);
  void end_of_store() { of_store_.reset(); }
  // `stalled` is called on another thread whenever a turn exceeds turn_seconds_max, with how long
  // it has lasted so far.
  void watch_loop(std::function<void(Nanos lasts)> stalled);
  // Says in the log when a turn of one of these threads exceeds turn_seconds_max. They outlive
  // this, or end_of_loop() comes before their end.
  void watch_threads(const IoThreads& threads);
  void end_of_loop() {
    of_loop_.reset();
    of_threads_.clear();
  }

 private:
  const Config& config_;
  const TurnClock& clock_;
  std::unique_ptr<Watchdog> of_store_;
  std::unique_ptr<Watchdog> of_loop_;
  std::vector<std::unique_ptr<Watchdog>> of_threads_;
};

}  // namespace perennial::perenniald
