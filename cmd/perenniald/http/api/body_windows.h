#pragma once

#include <cstddef>
#include <string>

#include "engine/types/basic.h"

namespace perennial::http {

// The body that was last asked for in windows. A body is checked by a hash of all its bytes, so the
// first window reads all of it. Without this each further window would read all of it again.
//
// It holds one body, of at most `bytes_max`, and forgets it soon after its last window. A body
// never changes and an id is never used twice, so it is right for as long as its job is there.
// Whoever asks must see to that, and to the rights of the caller.
class BodyWindows {
 public:
  static constexpr size_t body_bytes_max = 64 << 20;
  static constexpr Nanos life = 10 * nanos_per_second;

  explicit BodyWindows(size_t bytes_max = body_bytes_max) : bytes_max_(bytes_max) {}

  // Null: it is not this one. Valid until the next call of another function.
  const std::string* find(JobId job, Nanos now);
  // Takes the place of the one before, unless it is too large.
  void keep(JobId job, std::string body, Nanos now);
  void on_time(Nanos now);
  size_t bytes() const { return body_.capacity(); }

 private:
  const size_t bytes_max_;
  JobId job_ = 0;  // 0: none.
  std::string body_;
  Nanos used_ = 0;
};

}  // namespace perennial::http
