#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "engine/types/basic.h"

namespace perennial::http {

// How many requests of the API an address may send: so many a second, and a burst. Who sends
// nothing for a while is forgotten.
class RateLimit {
 public:
  static constexpr double per_second = 50;
  static constexpr double burst = 200;
  static constexpr size_t addresses_max = 10'000;

  // Counts a request. False: it is one too many. An empty address, that of a unix socket, has no
  // limit.
  bool allows(const std::string& address, Nanos now);
  size_t size() const { return buckets_.size(); }

 private:
  struct Bucket {
    double tokens = burst;
    Nanos since = 0;
  };

  void forget_full(Nanos now);

  std::map<std::string, Bucket> buckets_;
};

}  // namespace perennial::http
