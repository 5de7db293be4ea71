#pragma once

#include <algorithm>
#include <optional>

#include "engine/types/basic.h"

namespace perennial::perenniald {

// When the next scheduled checkpoint is due, and which is the newest good one. Pure.
class CheckpointSchedule {
 public:
  // How soon one that failed is tried again, at most.
  static constexpr Nanos retry_after = 60 * nanos_per_second;

  // `every`: from one good checkpoint to the next; 0: none is ever due.
  explicit CheckpointSchedule(Nanos every) : every_(every) {}

  // A good one was cut at `cut`, by the schedule, for a client or before this start. A time that is
  // still to come, because the clock was put back, is as good as now.
  void made(Nanos cut, Nanos now) {
    newest_ = std::min(cut, now);
    due_ = *newest_ + every_;
  }
  // Somebody has removed the newest good one. `cut`: when the newest that is left was cut.
  void lost(std::optional<Nanos> cut, Nanos now) {
    newest_.reset();
    due_ = 0;
    if (cut) made(*cut, now);
  }
  void failed(Nanos now) { due_ = now + std::min(every_, retry_after); }

  // None: never. Without a good one it is due at once.
  std::optional<Nanos> due() const { return every_ > 0 ? std::optional(due_) : std::nullopt; }
  // Seconds since the newest good one; -1 without one.
  int64_t age_s(Nanos now) const {
    return newest_ ? std::max<Nanos>(now - *newest_, 0) / nanos_per_second : -1;
  }

 private:
  const Nanos every_;
  Nanos due_ = 0;
  std::optional<Nanos> newest_;
};

}  // namespace perennial::perenniald
