#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "cmd/perenniald/http/answer.h"
#include "cmd/perenniald/http/api/job_view.h"
#include "cmd/perenniald/http/api/sources.h"
#include "engine/types/command.h"

namespace perennial::http {

// Searches in the bodies of jobs, one at a time for all clients. It reads on the pool, so it takes
// no time from the loop, and a page ends early when much was looked at: `next` says where to go on.
class Searches {
 public:
  using BodyTest = std::function<bool(std::string_view body)>;
  // What one request looks at, at most.
  static constexpr uint64_t jobs_max = 100'000;
  static constexpr Nanos time_max = 2 * nanos_per_second;
  // Of what is looked for: the text, the path, the value.
  static constexpr size_t bytes_max = 1'000;
  // What is given to the pool at once. When a client leaves, no more than this is still read.
  static constexpr uint64_t bodies_per_read = 200;
  static constexpr uint64_t bytes_per_read = 4 << 20;

  explicit Searches(ApiSources& sources) : sources_(sources) {}

  bool is_busy() const { return is_busy_; }
  // REQUIRES: !is_busy(). `jobs`: which jobs are looked at; `is_wanted`: which of their bodies,
  // asked on another thread; `limit`: how many.
  std::unique_ptr<Answer> open(JobView view, ListJobs jobs, BodyTest is_wanted, uint64_t limit);

 private:
  class Search;

  ApiSources& sources_;
  bool is_busy_ = false;
};

}  // namespace perennial::http
