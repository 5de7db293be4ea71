#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/checkpoints/checkpoint_schedule.h"
#include "cmd/perenniald/checkpoints/checkpoint_watch.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/loop/clock.h"
#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"
#include "store/commit/log.h"
#include "store/types/group_access.h"

namespace perennial::perenniald {

// Makes the checkpoints of a running server. Core decides when one is made and what it holds, and
// the log creates it between two batches. A thread of its own then reads all of it, verifies it and
// gives it its name; one is verified at a time. A temporary checkpoint is only created, also while
// another one is being verified, and is removed when core gives it up or the server stops. A
// checkpoint that fails does not harm the server.
class Checkpoints {
 public:
  struct Settings {
    std::string dir;
    std::string data_dir;
    store::GroupAccess group_access = store::GroupAccess::None;
    std::string server_version;
    Nanos every = 0;  // 0: there is no schedule.
    size_t keep = 0;  // 0: all.
  };

  // All of them outlive this.
  Checkpoints(uv_loop_t& loop, core::Core& core, TurnClock& clock, Settings settings);

  // Prepares the directory, removes what a crash has left there, and starts the schedule.
  // `database`: the identity of the open store (store/disk/identity.h). A failure is one of the
  // configuration.
  Status open(const std::string& database);
  // If a checkpoint point follows the last batch taken from core, gives the checkpoint its place in
  // the log. REQUIRES: it is called after each append, before the next batch is taken.
  void order_checkpoint(store::Log& log);
  // Removes temporary checkpoints that no connection owns any more.
  void remove_given_up();
  void on_checkpoint_created(const store::CheckpointCreated& created);
  // Refuses all further checkpoints: clients that wait are answered, and one that is being verified
  // is given up.
  void stop();
  // Called when a checkpoint could not be made because something in it is damaged.
  void on_damage(std::function<void()> hook) { on_damage_ = std::move(hook); }
  // Whether that was so with the last one that was read.
  bool is_damaged() const { return is_damaged_; }
  // Ends the thread, and closes the handles in the loop. This is the last call.
  void close();

  // Returns the seconds since the newest complete checkpoint was created; -1 without one.
  int64_t age_s() const { return schedule_.age_s(clock_.now()); }

 private:
  // One checkpoint, from its point to its result.
  struct Attempt {
    store::CheckpointPlan plan;
    bool scheduled = false;
    Nanos creation_took = 0;
    Nanos took = 0;  // From its creation until it was verified.
    std::optional<Result<store::CheckpointManifest>> result = {};
    Result<std::vector<std::string>> pruned = std::vector<std::string>();
  };
  Attempt begin(const core::CheckpointPoint& point, Nanos now);
  void give_temporary(const Attempt& attempt);
  void complete();
  void on_completed();
  void report_success(const Attempt& attempt, const store::CheckpointManifest& manifest);
  void report_pruned(const Attempt& attempt) const;
  void fail(const Attempt& attempt, const Status& status);
  void on_lost(const std::optional<CheckpointSeen>& next);
  bool kept_under_way() const { return verifying_ || (creating_ && !creating_->plan.temporary); }
  void arm();
  void on_due();

  uv_loop_t& loop_;
  core::Core& core_;
  TurnClock& clock_;
  Settings settings_;
  CheckpointSchedule schedule_;
  CheckpointWatch watch_;
  store::CheckpointOwner owner_;  // Which checkpoints in the directory belong to this server.
  bool open_ = false;
  Nanos next_created_ = 0;  // The earliest time that the next checkpoint may be named after.
  bool due_ = false;        // The schedule has asked, and that checkpoint is not being made yet.
  uv_timer_t timer_;
  uv_async_t completed_;
  std::optional<Attempt> creating_;   // The log creates it.
  std::optional<Attempt> verifying_;  // The thread verifies it, and owns it while it runs.
  std::atomic<bool> cancelled_ = false;
  std::thread thread_;
  std::function<void()> on_damage_;
  bool is_damaged_ = false;
};

}  // namespace perennial::perenniald
