#pragma once

#include <algorithm>
#include <optional>

#include "engine/types/basic.h"
#include "engine/types/later.h"

namespace perennial::perenniald {

// When the next scheduled checkpoint is due, and when the newest good one was created. It reads no
// clock.
class CheckpointSchedule {
 public:
  // The longest time until a failed checkpoint is tried again.
  static constexpr Nanos retry_after = 60 * nanos_per_second;

  // `every`: the time from one good checkpoint to the next; 0: none is ever due.
  explicit CheckpointSchedule(Nanos every) : every_(every) {}

  // A good one was created at `created`: by the schedule, for a client, or before this start. A
  // time in the future, because the clock was put back, counts as now.
  void made(Nanos created, Nanos now) {
    newest_ = std::min(created, now);
    due_ = later(*newest_, every_);
  }
  // The newest good one was removed by another program. `created`: the time of the newest one that
  // is left.
  void lost(std::optional<Nanos> created, Nanos now) {
    newest_.reset();
    due_ = 0;
    if (created) made(*created, now);
  }
  void failed(Nanos now) { due_ = later(now, std::min(every_, retry_after)); }

  // None: never. Without a good one a checkpoint is due at once.
  std::optional<Nanos> due() const { return every_ > 0 ? std::optional(due_) : std::nullopt; }
  // Returns the seconds since the newest good one; -1 without one.
  int64_t age_s(Nanos now) const {
    return newest_ ? std::max<Nanos>(now - *newest_, 0) / nanos_per_second : -1;
  }

 private:
  const Nanos every_;
  Nanos due_ = 0;
  std::optional<Nanos> newest_;
};

}  // namespace perennial::perenniald
