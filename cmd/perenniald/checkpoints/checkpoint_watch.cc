#include "cmd/perenniald/checkpoints/checkpoint_watch.h"

#include <cerrno>
#include <utility>

#include <unistd.h>

#include "engine/types/check.h"

namespace perennial::perenniald {
namespace {

constexpr uint64_t look_every_ms = 2'000;

bool is_gone(const std::string& path) {
  return access((path + "/manifest.json").c_str(), F_OK) != 0 && errno == ENOENT;
}

}  // namespace

CheckpointWatch::CheckpointWatch(uv_loop_t& loop, Lost lost) : loop_(loop), lost_(std::move(lost)) {
  CHECK(uv_timer_init(&loop, &timer_) == 0);
  timer_.data = work_.data = this;
}

void CheckpointWatch::begin(const std::string& dir, const store::CheckpointOwner& owner) {
  dir_ = dir;
  owner_ = owner;
  const auto fired = [](uv_timer_t* handle) {
    static_cast<CheckpointWatch*>(handle->data)->look();
  };
  CHECK(uv_timer_start(&timer_, fired, look_every_ms, look_every_ms) == 0);
}

void CheckpointWatch::look() {
  if (looking_ || path_.empty()) return;
  look_ = {.path = path_, .dir = dir_, .owner = owner_};
  looking_ = true;
  const auto on_pool = [](uv_work_t* request) {
    Look& look = static_cast<CheckpointWatch*>(request->data)->look_;
    look.is_gone = is_gone(look.path);
    if (look.is_gone) look.next = newest_checkpoint(look.dir, look.owner);
  };
  const auto on_loop = [](uv_work_t* request, int /*status*/) {
    static_cast<CheckpointWatch*>(request->data)->on_looked();
  };
  CHECK(uv_queue_work(&loop_, &work_, on_pool, on_loop) == 0);
}

// If a newer checkpoint was made during the check, its result is ignored.
void CheckpointWatch::on_looked() {
  looking_ = false;
  if (!look_.is_gone || look_.path != path_) return;
  path_ = look_.next ? look_.next->path : std::string();
  lost_(look_.next);
}

void CheckpointWatch::close() {
  path_.clear();
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_), nullptr);
}

}  // namespace perennial::perenniald
