#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "engine/containers/heap.h"
#include "engine/containers/kept_buckets.h"
#include "engine/tables/tube.h"
#include "engine/types/basic.h"
#include "engine/types/job_fields.h"

namespace perennial::engine {

// The rates of tubes: a token bucket for each tube with a rate. A bucket holds as many tokens as
// the rate has jobs, and one comes back in each interval; it is kept as the time at which it is
// full again. Owns the buckets of tubes that are not there; those of the others are in the tubes.
//
// Every function may change whether jobs may be reserved from the tube that it is given:
// TubeTable, which alone calls them, notes it.
class RateTable {
 public:
  explicit RateTable(size_t buckets_max) : buckets_(buckets_max) {}

  // A tube begins, with its settings. `is_default`: its rate is one of the configuration.
  void begin(Tube& tube, bool is_default, Nanos now);
  void end(Tube& tube, Nanos now);
  // The tube has another rate now, or none: a new bucket is full.
  void reset(Tube& tube);
  // The rate of a tube that is not there is another one.
  void on_rate(std::string_view tube, const std::optional<Rate>& rate) {
    buckets_.on_rate(tube, rate);
  }
  // A job is reserved.
  void take(Tube& tube, Nanos now);
  // The engine was restarted: nobody knows how many jobs were reserved just before, so all buckets
  // that were there are empty.
  void on_restart(Nanos now) { restored_at_ = now; }
  void empty(Tube& tube, Nanos now);
  void keep_empty(const std::string& tube, const Rate& rate, Nanos now);

  // Takes out a tube whose empty bucket has a token again by now, the earliest first. Null: there
  // is none.
  Tube* take_refilled(Nanos now);
  // When the next such bucket has a token. None: no bucket is empty.
  std::optional<Nanos> soonest() const;

  bool keeps(std::string_view tube) const { return buckets_.contains(tube); }
  size_t kept() const { return buckets_.size(); }
  Nanos restored_at() const { return restored_at_; }
  // An estimate, in bytes.
  size_t memory_bytes() const { return buckets_.memory_bytes(); }

 private:
  void refill_later(Tube& tube, Nanos now);

  KeptBuckets buckets_;
  IndexedHeap<Tube, &Tube::rate_index> spent_;  // By the time of the next reservation.
  Nanos restored_at_ = 0;                       // 0: nothing was there before.
};

}  // namespace perennial::engine
