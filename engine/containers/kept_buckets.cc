#include "engine/containers/kept_buckets.h"

#include "engine/types/check.h"

namespace perennial::engine {

// For each that comes two that are full go, so that they do not pile up.
void KeptBuckets::keep(const std::string& tube, const Rate& rate, Nanos full_at, Nanos now) {
  for (int i = 0; i < 2 && !by_full_.empty() && by_full_.begin()->first <= now; ++i) {
    forget_soonest();
  }
  if (full_at <= now || buckets_max_ == 0) return;
  if (buckets_.size() >= buckets_max_) forget_soonest();
  CHECK(buckets_.emplace(tube, Bucket{rate, full_at}).second);
  by_full_.emplace(full_at, tube);
}

std::optional<Nanos> KeptBuckets::take(std::string_view tube) {
  const auto found = buckets_.find(tube);
  if (found == buckets_.end()) return std::nullopt;
  const Nanos full_at = found->second.full_at;
  erase(found);
  return full_at;
}

void KeptBuckets::on_rate(std::string_view tube, const std::optional<Rate>& rate) {
  const auto found = buckets_.find(tube);
  if (found != buckets_.end() && rate != found->second.rate) erase(found);
}

void KeptBuckets::erase(Buckets::iterator bucket) {
  by_full_.erase({bucket->second.full_at, bucket->first});
  buckets_.erase(bucket);
}

void KeptBuckets::forget_soonest() {
  erase(buckets_.find(by_full_.begin()->second));
}

}  // namespace perennial::engine
