#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "engine/types/basic.h"
#include "engine/types/stats.h"

namespace perennial::core {

// What a checkpoint holds: every batch up to `index`, and so many jobs.
struct CheckpointPoint {
  BatchIndex index = 0;
  StateCounts jobs;  // `urgent` is 0: it is not on disk.
  bool temporary = false;
};

// Which connections wait for which checkpoint. One kept checkpoint is made at a time. Connections
// that ask before its checkpoint point is fixed share it; later ones share the next. A temporary
// checkpoint belongs to one connection. It is created while a kept one is being verified, and is
// given up when its connection closes or asks for another.
//
// It does not choose the checkpoint point and answers no connection: core does both.
class CheckpointRequests {
 public:
  // `temporary_max`: the most temporary checkpoints that may exist or be waited for.
  explicit CheckpointRequests(size_t temporary_max) : temporary_max_(temporary_max) {}

  // ---- Requests.
  // The schedule wants one.
  void want() { wanted_ = true; }
  // A client wants one. Returns the reason if it gets none; otherwise the client waits.
  std::optional<std::string> ask(ConnId conn, bool temporary);
  // The connection is closed.
  void on_close(ConnId conn) { give_up(conn); }

  // ---- The checkpoint point.
  // Whether a checkpoint is wanted and its point may be fixed now.
  bool may_freeze() const;
  // Fixes the checkpoint point. The checkpoint counts as being made from then on. REQUIRES:
  // may_freeze().
  void freeze(BatchIndex index, const StateCounts& jobs);
  // The checkpoint point that is fixed and was not taken.
  const std::optional<CheckpointPoint>& frozen() const { return point_; }
  // REQUIRES: frozen() has a value.
  CheckpointPoint take() { return *std::exchange(point_, std::nullopt); }

  // ---- Results. Both functions require that a point of that kind was taken and that they were not
  // called since.
  // Returns the connections to answer, in the order in which they asked.
  std::vector<ConnId> end_kept();
  // Returns the connection to answer, unless it is closed. `path`: where the checkpoint is; empty
  // if it failed.
  std::optional<ConnId> end_temporary(const std::string& path);

  // ---- The end.
  // From now on every request is refused with this reason. Returns all connections that wait. A
  // checkpoint whose point was taken still ends.
  std::vector<ConnId> refuse(std::string reason);
  bool is_refusing() const { return !refused_because_.empty(); }
  // Gives up all temporary checkpoints, because every connection ends.
  void give_up_all();
  // Returns the paths of temporary checkpoints that no connection owns any more and that must be
  // removed.
  std::vector<std::string> take_given_up() { return std::exchange(given_up_, {}); }

 private:
  size_t temporary_count() const;
  void give_up(ConnId conn);

  const size_t temporary_max_;
  bool wanted_ = false;
  bool being_made_ = false;               // From freeze() to end_kept().
  std::optional<CheckpointPoint> point_;  // Fixed, and not taken yet.
  std::vector<ConnId> waiting_;           // These connections get the next.
  std::vector<ConnId> sharing_;           // These get the one that is being made.
  std::string refused_because_;           // Empty: requests are not refused.

  std::deque<ConnId> temporary_waiting_;  // Each gets one of its own, in this order.
  bool temporary_being_created_ = false;  // From freeze() to end_temporary().
  std::optional<ConnId> temporary_for_;   // Waits for that one, unless it is closed.
  absl::flat_hash_map<ConnId, std::string> temporary_held_;  // Paths of those that connections own.
  std::vector<std::string> given_up_;                        // Paths.
};

}  // namespace perennial::core
