#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cmd/perenniald/http/api/fields.h"
#include "engine/types/stats.h"

namespace perennial::http {

// Which jobs of a list are wanted, by their numbers: those from `NAME_min` to `NAME_max` of each.
class JobFilter {
 public:
  struct Number {
    std::string_view name;
    uint64_t (*of)(const JobStats&);
  };
  static constexpr std::array numbers = {
      // In whole seconds.
      Number{"age_seconds",
             [](const JobStats& job) { return static_cast<uint64_t>(job.age / nanos_per_second); }},
      Number{"priority", [](const JobStats& job) { return uint64_t{job.priority}; }},
      Number{"reserves", [](const JobStats& job) { return uint64_t{job.reserves}; }},
      Number{"timeouts", [](const JobStats& job) { return uint64_t{job.timeouts}; }},
  };

  JobFilter() = default;
  explicit JobFilter(Query& query);

  // Whether it leaves anything out.
  bool is_set() const;
  bool admits(const JobStats& job) const;

 private:
  struct Range {
    uint64_t min = 0;
    uint64_t max = UINT64_MAX;

    bool operator==(const Range&) const = default;
  };
  std::array<Range, numbers.size()> ranges_ = {};
};

}  // namespace perennial::http
