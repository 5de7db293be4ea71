#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "cmd/perenniald/http/api/fields.h"
#include "cmd/perenniald/http/message.h"
#include "engine/types/basic.h"

namespace perennial::http {

// The part of a body that a request asks for by `offset` and `length`.
class BodyWindow {
 public:
  static constexpr uint64_t bytes_max = 64 << 10;

  explicit BodyWindow(Query& query)
      : offset_(query.number("offset", 0, 0, UINT32_MAX)),
        length_(query.number("length", bytes_max, 1, bytes_max)) {}

  // Bytes that no browser shows as a page. `body` is the whole.
  Response of(JobId id, std::string_view body) const;

 private:
  uint64_t offset_;
  uint64_t length_;
};

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
