#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cmd/perenniald/cluster/node_runner.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/loop/clock.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/server/clock_check.h"
#include "engine/types/body.h"
#include "engine/types/stats.h"
#include "store/store.h"
#include "store/types/group_access.h"

namespace perennial::perenniald {

// Opens the store and loads it into the engine, on a thread of its own, so that the loop can answer
// signals and speak HTTP meanwhile. A node of a cluster follows the log in between, until it leads,
// and gets a copy of another node's database where its own is not enough. The engine belongs to
// that thread until it calls `done`.
class Startup {
 public:
  struct Found {
    // What the thread has loaded.
    std::unique_ptr<store::Store> store;
    store::Opening opening;  // What was loaded. Of a cluster's node: with its epoch as the leader.
    StateCounts jobs;        // By their state on disk.
    uint64_t tubes = 0;
    std::vector<std::pair<std::string, Body>> schedule_bodies;  // By name, for core.
    // The zones that this system does not know, and how many schedules each has.
    std::map<std::string, uint64_t> unknown_zones;
    Nanos took = 0;  // Of a node of a cluster: from its election on.
    Nanos now = 0;   // The time with which it was loaded, at `measured_at` by TurnClock::steady().
    Nanos measured_at = 0;
  };

  // `done` is called once, on that thread, when it has finished.
  // `runner`: null if the server is no part of a cluster. Otherwise the thread loads when this node
  // leads. `is_written` is set when a standby begins to write what the leader has.
  Startup(store::Options options, store::GroupAccess group_access, NodeRunner* runner,
          std::atomic<bool>& is_written, engine::Engine& engine, const TurnClock& clock,
          const ClockBounds& bounds, std::function<void()> done);
  ~Startup();

  // Makes the thread end early. take() then returns nothing.
  void cancel();

  // Both are called after `done`. failure() is set if the store could not be opened or loaded.
  // take() returns what was loaded; nothing after a failure or cancel().
  const std::optional<Failure>& failure() const { return failure_; }
  std::optional<Found> take();

 private:
  void run(const store::Options& options);
  Result<std::unique_ptr<store::Store>> open(const store::Options& options);
  // Refuses a start whose clock is not believed, before the start changes anything.
  Status review(Nanos newest, const std::function<Status(const store::LoadSink&)>& load);
  Status follow(store::Store& store);
  Nanos time(bool leads);
  Status load(store::Store& store, ClockCheck& check);
  void give_up(const Status& loaded, const std::string& data_dir);
  // Logs where the wall clock and the newest batch do not fit. Returns false if the start is to end
  // with `failure_`.
  bool accept(const ClockCheck& check);
  Status restore(const JobRow& row);

  const store::GroupAccess group_access_;
  NodeRunner* const runner_;
  std::atomic<bool>& is_written_;
  engine::Engine& engine_;
  const TurnClock& clock_;
  ClockBounds bounds_;
  const std::function<void()> done_;
  std::atomic<bool> cancelled_ = false;
  std::optional<Failure> failure_;
  Found found_;
  std::thread thread_;  // Last, so that it starts when all other members exist.
};

}  // namespace perennial::perenniald
