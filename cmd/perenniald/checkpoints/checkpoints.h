#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <uv.h>

#include "cmd/perenniald/checkpoints/checkpoint_schedule.h"
#include "cmd/perenniald/checkpoints/checkpoint_watch.h"
#include "cmd/perenniald/core/core.h"
#include "cmd/perenniald/loop/clock.h"
#include "engine/types/status.h"
#include "store/checkpoint/checkpoint.h"
#include "store/commit/log.h"

namespace perennial::perenniald {

// Makes the checkpoints of a running server, one at a time: core says when one is wanted and what
// it holds, the log cuts it between two batches, and a thread of its own reads all of it,
// verifies it and gives it its name, for as long as that takes. A temporary one is only cut, also
// while another is being verified, and is removed when core says so or when the server stops. None
// that fails harms the server.
class Checkpoints {
 public:
  struct Settings {
    std::string dir;
    std::string data_dir;
    std::string server_version;
    Nanos every = 0;  // 0: there is no schedule.
    size_t keep = 0;  // 0: all.
  };

  // All outlive this.
  Checkpoints(uv_loop_t& loop, core::Core& core, TurnClock& clock, Settings settings);

  // Prepares the directory, clears it of what a crash left, and starts the schedule. `database`:
  // that of the store, which is open (store/disk/identity.h). A failure is one of the
  // configuration.
  Status open(const std::string& database);
  // If a cut is due behind the last batch that was taken from core, gives it its place in the log.
  // REQUIRES: called between each batch and the next, behind the append of the one.
  void order_cut(store::Log& log);
  // Removes temporary ones that belong to nobody any more.
  void remove_given_up();
  void on_cut(const store::CutDone& cut);
  // No more of them: those who wait are told so, and one that is being verified is given up.
  void stop();
  // Ends the thread, and closes what is open in the loop. Nothing may be called afterwards.
  void close();

  // Since the newest complete one was cut; -1 without one.
  int64_t age_s() const { return schedule_.age_s(clock_.now()); }

 private:
  struct Making {
    store::CheckpointCut cut;
    bool scheduled = false;
    Nanos cut_took = 0;
    Nanos took = 0;  // From the cut until it was verified.
    std::optional<Result<store::CheckpointManifest>> result = {};
    Result<std::vector<std::string>> pruned = std::vector<std::string>();
  };
  Making begin(const core::Cut& cut, Nanos now);
  void give_temporary(const Making& made);
  void complete();
  void on_completed();
  void report_success(const Making& made, const store::CheckpointManifest& manifest);
  void report_pruned(const Making& made) const;
  void fail(const Making& making, const Status& status);
  void on_lost(const std::optional<CheckpointSeen>& next);
  bool kept_under_way() const { return making_ || (cutting_ && !cutting_->cut.temporary); }
  void arm();
  void on_due();

  uv_loop_t& loop_;
  core::Core& core_;
  TurnClock& clock_;
  Settings settings_;
  CheckpointSchedule schedule_;
  CheckpointWatch watch_;
  store::CheckpointOwner owner_;  // Which checkpoints in the directory are this server's.
  bool open_ = false;
  bool due_ = false;  // The schedule has asked, and that one is not being made yet.
  uv_timer_t timer_;
  uv_async_t completed_;
  std::optional<Making> cutting_;  // With the log.
  std::optional<Making> making_;   // Being verified: the thread's, while that runs.
  std::atomic<bool> cancelled_ = false;
  std::thread thread_;
};

}  // namespace perennial::perenniald
