#pragma once

#include <functional>
#include <optional>
#include <string>

#include <uv.h>

#include "cmd/perenniald/checkpoints/checkpoint_dir.h"
#include "store/checkpoint/checkpoint.h"

namespace perennial::perenniald {

// Sees when the newest checkpoint is removed by somebody else, so that nobody relies on it any
// longer. Looks at the disk every few seconds, on libuv's pool.
class CheckpointWatch {
 public:
  // `lost`: called on the loop, with the newest of those that are left. The loop outlives this.
  using Lost = std::function<void(const std::optional<CheckpointSeen>& next)>;
  CheckpointWatch(uv_loop_t& loop, Lost lost);
  CheckpointWatch(const CheckpointWatch&) = delete;
  CheckpointWatch& operator=(const CheckpointWatch&) = delete;

  void begin(const std::string& dir, const store::CheckpointOwner& owner);
  // This is the newest from now on.
  void watch(const std::string& path) { path_ = path; }
  // Ends its handle, as the loop's end wants it. `lost` is not called any more.
  void close();

 private:
  // The pool's, while it looks.
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
  std::string path_;  // Empty: there is none.
  uv_timer_t timer_;
  uv_work_t work_;
  bool looking_ = false;
  Look look_;
};

}  // namespace perennial::perenniald
