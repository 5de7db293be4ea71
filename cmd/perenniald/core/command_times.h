#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/types/basic.h"
#include "engine/types/command.h"
#include "engine/types/histogram.h"

namespace perennial::core {

// Of CommandKind, in its order.
inline constexpr std::array<std::string_view, 6> command_kind_names = {"put",  "delete",  "release",
                                                                       "bury", "reserve", "other"};
// A line that is refused because of its form is of the kind of the command that it counts as.
CommandKind kind_of(const Command& command);

// How long commands take: from the turn that runs a command to the time when its reply may leave.
// That is when its batch is committed and its body is read. A command that comes behind an
// unanswered one of its connection begins when that is answered. A reserve that waits for a job
// begins when the job is there, because all before that is a lack of jobs and not of speed.
//
// Commands are counted in groups of those that began in the same turn, so that one costs little
// more than an addition, and no reading of the clock.
class CommandTimes {
 public:
  using Histograms = std::array<LatencyHistogram, command_kind_names.size()>;
  struct Start {
    // The time of the turn. 0: it has not begun, since it waits for a job.
    Nanos at = 0;
    CommandKind kind = CommandKind::Other;
  };
  // Commands of one turn.
  struct Group {
    Nanos began = 0;
    std::array<uint32_t, command_kind_names.size()> counts = {};
  };
  static void add(std::vector<Group>& groups, const Start& command) {
    if (groups.empty() || groups.back().began != command.at) {
      groups.push_back({.began = command.at});
    }
    ++groups.back().counts[static_cast<size_t>(command.kind)];
  }

  // Replies may leave.
  void on_released(const Start& command) { add(released_, command); }
  void on_released(const std::vector<Group>& groups) {
    released_.insert(released_.end(), groups.begin(), groups.end());
  }
  // Whether replies may leave that were not recorded yet.
  bool has_released() const { return !released_.empty(); }
  // They leave at this time.
  void record(Nanos now);

  const Histograms& histograms() const { return histograms_; }

 private:
  std::vector<Group> released_;
  Histograms histograms_ = {};
};

}  // namespace perennial::core
