#include "store/cluster/cluster_time.h"

#include <algorithm>
#include <vector>

#include "engine/types/later.h"

namespace perennial::store::cluster {

void ClusterTime::on_heard(Nanos time, uint64_t epoch, Nanos at) {
  if (is_exact_) return;
  const std::optional<Nanos> known = this->at(at);
  if (known && (epoch < epoch_ || (epoch == epoch_ && time < *known))) return;
  heard_ = Heard{.time = time, .at = at};
  epoch_ = epoch;
}

void ClusterTime::set(Nanos time, uint64_t epoch, Nanos at) {
  heard_ = Heard{.time = time, .at = at};
  epoch_ = epoch;
  is_exact_ = true;
}

std::optional<Nanos> ClusterTime::at(Nanos now) const {
  if (!heard_) return std::nullopt;
  const Nanos passed = now - heard_->at;
  return later(heard_->time, is_exact_ ? passed : passed - passed / drift_divisor);
}

TakeoverTime takeover_time(std::optional<Nanos> heard, Nanos wall, Nanos offset_max) {
  if (!heard) return {.time = wall};
  const Nanos ahead = wall - *heard;
  return {.time = ahead >= 0 && ahead <= offset_max ? wall : *heard,
          .is_handed_on = true,
          .wall_ahead = ahead,
          .is_wall_off = ahead > offset_max || ahead < -offset_max};
}

Nanos ahead_of_median(Nanos wall, std::span<const Nanos> others) {
  std::vector<Nanos> all(others.begin(), others.end());
  all.push_back(wall);
  const auto median = all.begin() + static_cast<ptrdiff_t>((all.size() - 1) / 2);
  std::ranges::nth_element(all, median);
  return wall - *median;
}

}  // namespace perennial::store::cluster
