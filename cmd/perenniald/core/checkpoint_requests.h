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

// What a checkpoint holds: every batch up to this one, and so many jobs.
struct Cut {
  BatchIndex index = 0;
  StateCounts jobs;  // `urgent` is 0: it is not on disk.
  bool temporary = false;
};

// Who waits for which checkpoint. One is made at a time. Those who ask before it is settled what it
// holds share it; those who ask later share the next. A temporary one is one connection's, is cut
// between two of the others' cuts, and is given up when that connection closes or asks for another.
//
// Decides nothing of history and answers nobody: core says what a cut holds, and is told whom to
// answer.
class CheckpointRequests {
 public:
  // So many temporary ones may there be, those that are waited for among them.
  explicit CheckpointRequests(size_t temporary_max) : temporary_max_(temporary_max) {}

  // ---- Who wants one.
  // On nobody's behalf: the schedule's.
  void want() { wanted_ = true; }
  // On a client's. Returns why it gets none, or nothing: then it waits.
  std::optional<std::string> ask(ConnId conn, bool temporary);
  // The connection is gone.
  void on_close(ConnId conn) { give_up(conn); }

  // ---- The cut.
  // Whether one is wanted, and may be settled now.
  bool may_settle() const;
  // From here on it counts as being made. REQUIRES: may_settle().
  void settle(BatchIndex index, const StateCounts& jobs);
  // The one that is settled and was not taken.
  const std::optional<Cut>& settled() const { return cut_; }
  // REQUIRES: settled().
  Cut take() { return *std::exchange(cut_, std::nullopt); }

  // ---- What became of it. REQUIRES, of both: one of that kind was taken, and this was not called
  // since.
  // Those who are to be told, in the order in which they asked.
  std::vector<ConnId> end_kept();
  // The one who is to be told, if it is still there. `path`: where it lies; empty if it failed.
  std::optional<ConnId> end_temporary(const std::string& path);

  // ---- The end.
  // From here on nobody gets any, for this reason. Returns all who wait. One that was taken still
  // ends.
  std::vector<ConnId> refuse(std::string reason);
  bool is_refusing() const { return !refused_because_.empty(); }
  // All temporary ones are given up, because every connection ends.
  void give_up_all();
  // Paths of temporary ones that are to be removed now: they belong to nobody any more.
  std::vector<std::string> take_given_up() { return std::exchange(given_up_, {}); }

 private:
  size_t temporary_count() const;
  void give_up(ConnId conn);

  const size_t temporary_max_;
  bool wanted_ = false;
  bool being_made_ = false;      // From settle() to end_kept().
  std::optional<Cut> cut_;       // Settled, and not yet taken.
  std::vector<ConnId> waiting_;  // They get the next.
  std::vector<ConnId> sharing_;  // They get the one that is being made.
  std::string refused_because_;  // Empty: they are not refused.

  std::deque<ConnId> temporary_waiting_;  // Each gets one of its own, in this order.
  bool temporary_being_cut_ = false;      // From settle() to end_temporary().
  std::optional<ConnId> temporary_for_;   // Who waits for that one, if somebody still does.
  absl::flat_hash_map<ConnId, std::string> temporary_held_;  // Their paths.
  std::vector<std::string> given_up_;                        // Paths.
};

}  // namespace perennial::core
