#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "engine/view/measured_times.h"

namespace perennial::engine {

// The waits and runs of the tubes that are measured, each under a name: the tube's own, or that of
// a group of tubes, which share a record. A tube that is not measured costs a null pointer, and a
// job costs nothing.
//
// Invariants: there are at most `records_max` records. A record stays at its place as long as it is
// there. That of a tube ends with the tube. That of a group stays, so that its counts do not go
// back when one of its tubes ends.
class MeasuredTubes {
 public:
  MeasuredTubes(MeasuredAs measured_as, uint32_t records_max)
      : measured_as_(std::move(measured_as)), records_max_(records_max) {}

  // A tube begins. Returns the record that counts its waits and runs; null: none does, because
  // nobody wants it, or there are too many records.
  TubeTimes* begin(std::string_view tube) {
    if (!measured_as_) return nullptr;
    MeasuredName name = measured_as_(tube);
    if (name.name.empty()) return nullptr;
    const auto found = records_.find(name.name);
    if (found != records_.end()) return &found->second.times;
    if (records_.size() >= records_max_) return nullptr;
    MeasuredTimes& record = records_[std::move(name.name)];
    record.is_group = name.is_group;
    return &record.times;
  }
  // A tube ends that has this record. REQUIRES: `times` is not null.
  void end(std::string_view tube, const TubeTimes* times) {
    const auto found = records_.find(tube);
    if (found == records_.end() || found->second.is_group || &found->second.times != times) return;
    records_.erase(found);
  }

  // By name.
  const TimesByName& records() const { return records_; }

 private:
  const MeasuredAs measured_as_;
  const uint32_t records_max_;
  TimesByName records_;
};

}  // namespace perennial::engine
