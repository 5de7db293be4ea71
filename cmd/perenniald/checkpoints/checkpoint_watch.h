#pragma once

#include <functional>
#include <optional>
#include <string>

#include <uv.h>

#include "cmd/perenniald/checkpoints/checkpoint_dir.h"
#include "store/checkpoint/checkpoint.h"

namespace perennial::perenniald {

// Notices when another program removes the newest checkpoint, so that the schedule makes a new one.
// Checks the disk every few seconds, on libuv's pool.
class CheckpointWatch {
 public:
  // `lost` is called on the loop, with the newest checkpoint that is left. The loop outlives this.
  using Lost = std::function<void(const std::optional<CheckpointSeen>& next)>;
  CheckpointWatch(uv_loop_t& loop, Lost lost);
  CheckpointWatch(const CheckpointWatch&) = delete;
  CheckpointWatch& operator=(const CheckpointWatch&) = delete;

  void begin(const std::string& dir, const store::CheckpointOwner& owner);
  // This checkpoint is the newest from now on.
  void watch(const std::string& path) { path_ = path; }
  // Closes its handle, which the loop needs to end. `lost` is not called any more.
  void close();

 private:
  // Belongs to the pool while a check runs.
  struct Look {
    std::string path = {};
    std::string dir = {};
    store::CheckpointOwner owner = {};
    bool is_gone = false;
    std::optional<CheckpointSeen> next = {};
  };
  void look();
  void on_looked();

  uv_loop_t& loop_;
  const Lost lost_;
  std::string dir_;
  store::CheckpointOwner owner_;
  std::string path_;  // Empty: there is no checkpoint.
  uv_timer_t timer_;
  uv_work_t work_;
  bool looking_ = false;
  Look look_;
};

}  // namespace perennial::perenniald
