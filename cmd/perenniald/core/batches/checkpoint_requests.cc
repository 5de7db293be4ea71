#include "cmd/perenniald/core/batches/checkpoint_requests.h"

#include <algorithm>

#include "engine/types/check.h"

namespace perennial::core {

std::optional<std::string> CheckpointRequests::ask(ConnId conn, bool temporary) {
  if (!refused_because_.empty()) return refused_because_;
  if (!temporary) {
    wanted_ = true;
    waiting_.push_back(conn);
    return std::nullopt;
  }
  give_up(conn);
  if (temporary_count() >= temporary_max_) {
    return "there are as many temporary checkpoints as there may be: try again when one of those "
           "who asked for them has gone";
  }
  temporary_waiting_.push_back(conn);
  return std::nullopt;
}

size_t CheckpointRequests::temporary_count() const {
  return temporary_waiting_.size() + temporary_held_.size() + (temporary_being_created_ ? 1 : 0);
}

// The connection closes, or asks for another one.
void CheckpointRequests::give_up(ConnId conn) {
  std::erase(temporary_waiting_, conn);
  if (temporary_for_ == conn) temporary_for_.reset();
  const auto held = temporary_held_.find(conn);
  if (held == temporary_held_.end()) return;
  given_up_.push_back(std::move(held->second));
  temporary_held_.erase(held);
}

void CheckpointRequests::give_up_all() {
  for (auto& [conn, path] : temporary_held_) given_up_.push_back(std::move(path));
  temporary_held_.clear();
  std::ranges::sort(given_up_);  // The order of a hash map is random.
}

bool CheckpointRequests::may_freeze() const {
  if (point_ || temporary_being_created_) return false;
  return (wanted_ && !being_made_) || !temporary_waiting_.empty();
}

// Temporary checkpoints are made while a kept one is being verified.
void CheckpointRequests::freeze(BatchIndex index, const StateCounts& jobs) {
  CHECK(may_freeze());
  const bool is_kept = wanted_ && !being_made_;
  point_ = CheckpointPoint{.index = index, .jobs = jobs, .temporary = !is_kept};
  if (is_kept) {
    being_made_ = true;
    wanted_ = false;
    sharing_ = std::exchange(waiting_, {});
  } else {
    temporary_being_created_ = true;
    temporary_for_ = temporary_waiting_.front();
    temporary_waiting_.pop_front();
  }
}

std::vector<ConnId> CheckpointRequests::end_kept() {
  CHECK(being_made_);
  CHECK(!point_ || point_->temporary);
  being_made_ = false;
  return std::exchange(sharing_, {});
}

std::optional<ConnId> CheckpointRequests::end_temporary(const std::string& path) {
  CHECK(temporary_being_created_);
  CHECK(!point_);
  temporary_being_created_ = false;
  const std::optional<ConnId> asked = std::exchange(temporary_for_, std::nullopt);
  if (path.empty()) return asked;
  if (asked) {
    temporary_held_.emplace(*asked, path);
  } else {
    given_up_.push_back(path);
  }
  return asked;
}

std::vector<ConnId> CheckpointRequests::refuse(std::string reason) {
  refused_because_ = std::move(reason);
  wanted_ = false;
  // A checkpoint whose point is fixed and was not taken is not made any more.
  if (const std::optional<CheckpointPoint> point = std::exchange(point_, std::nullopt)) {
    (point->temporary ? temporary_being_created_ : being_made_) = false;
  }
  std::vector<ConnId> all(temporary_waiting_.begin(), temporary_waiting_.end());
  temporary_waiting_.clear();
  if (temporary_for_) all.push_back(*std::exchange(temporary_for_, std::nullopt));
  all.insert(all.end(), sharing_.begin(), sharing_.end());
  all.insert(all.end(), waiting_.begin(), waiting_.end());
  sharing_.clear();
  waiting_.clear();
  return all;
}

}  // namespace perennial::core
