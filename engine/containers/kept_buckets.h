#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "engine/types/basic.h"
#include "engine/types/job_fields.h"

namespace perennial::engine {

// The token buckets of tubes that are not there. A rate belongs to the settings, which a tube finds
// by its name, so its bucket must outlive the tube: workers that leave and come back would find a
// full one each time. A bucket that is full again need not be kept, and is forgotten in a while.
//
// Invariant: no tube that is there has a bucket here.
class KeptBuckets {
 public:
  // Past so many the bucket that is full soonest is forgotten, although it is not full.
  explicit KeptBuckets(size_t buckets_max) : buckets_max_(buckets_max) {}

  // Keeps the bucket of a tube that ends. `full_at`: when it is full again.
  void keep(const std::string& tube, const Rate& rate, Nanos full_at, Nanos now);
  // Takes the bucket out for a tube that begins. None: none is kept, which means that it is full.
  std::optional<Nanos> take(std::string_view tube);
  // The rate of the tube has changed. A bucket of another rate is forgotten.
  void on_rate(std::string_view tube, const std::optional<Rate>& rate);

  bool contains(std::string_view tube) const { return buckets_.contains(tube); }
  size_t size() const { return buckets_.size(); }
  // An estimate of the memory that they use, in bytes.
  size_t memory_bytes() const { return buckets_.size() * bucket_bytes; }

 private:
  struct Bucket {
    Rate rate;
    Nanos full_at = 0;
  };
  using Buckets = absl::btree_map<std::string, Bucket, std::less<>>;
  static constexpr size_t bucket_bytes = 2 * sizeof(std::string) + sizeof(Bucket) + 64;

  void erase(Buckets::iterator bucket);
  void forget_soonest();

  const size_t buckets_max_;
  Buckets buckets_;  // By the name of the tube.
  absl::btree_set<std::pair<Nanos, std::string>> by_full_;
};

}  // namespace perennial::engine
