#include "cmd/perenniald/http/api/job_filter.h"

#include <algorithm>

#include <fmt/format.h>

namespace perennial::http {

JobFilter::JobFilter(Query& query) {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view name = numbers[i].name;
    ranges_[i] = {.min = query.number(fmt::format("{}_min", name), 0, 0, UINT64_MAX),
                  .max = query.number(fmt::format("{}_max", name), UINT64_MAX, 0, UINT64_MAX)};
  }
}

bool JobFilter::is_set() const {
  return std::ranges::any_of(ranges_, [](const Range& range) { return range != Range(); });
}

bool JobFilter::admits(const JobStats& job) const {
  for (size_t i = 0; i < numbers.size(); ++i) {
    const uint64_t value = numbers[i].of(job);
    if (value < ranges_[i].min || value > ranges_[i].max) return false;
  }
  return true;
}

}  // namespace perennial::http
