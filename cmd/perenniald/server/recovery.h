#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/process/failure.h"
#include "engine/types/stats.h"
#include "store/store.h"

namespace perennial::perenniald {

// Opens the store and loads it into the engine on a thread of its own, so that the loop can
// meanwhile answer signals and the service manager. Until `done` is called, engine and clock belong
// to that thread.
class Recovery {
 public:
  struct Found {
    std::unique_ptr<store::Store> store;
    StateCounts jobs;  // By the state in which they were stored.
    uint64_t tubes = 0;
    Nanos took = 0;
  };

  // `done` is called once, on that thread, when it has finished.
  Recovery(store::Options options, engine::Engine& engine, TurnClock& clock,
           std::function<void()> done);
  ~Recovery();

  // Makes it end early, with nothing found.
  void cancel() { cancelled_ = true; }

  // Both after `done`. The failure, if there is one; else what was found, unless it was cancelled.
  const std::optional<Failure>& failure() const { return failure_; }
  std::optional<Found> take();

 private:
  void run(store::Options options);
  Status load(store::Store& store);
  Status restore(const JobRow& row, Nanos now);

  engine::Engine& engine_;
  TurnClock& clock_;
  const std::function<void()> done_;
  std::atomic<bool> cancelled_ = false;
  std::optional<Failure> failure_;
  Found found_;
  std::thread thread_;  // Last, so that it starts when all else is there.
};

}  // namespace perennial::perenniald
