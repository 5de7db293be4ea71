#include "cmd/perenniald/http/api/job_filter.h"

#include <algorithm>

#include <fmt/format.h>

namespace perennial::http {

JobFilter::JobFilter(Query& query) {
  for (const Number& each : numbers) {
    match_.of(each.number) = {
        .min = query.number(fmt::format("{}_min", each.name), 0, 0, UINT64_MAX),
        .max = query.number(fmt::format("{}_max", each.name), UINT64_MAX, 0, UINT64_MAX)};
  }
}

JobFilter::JobFilter(Fields& fields) {
  for (const Number& each : numbers) {
    match_.of(each.number) = {
        .min = fields.number(fmt::format("{}_min", each.name), UINT64_MAX).value_or(0),
        .max = fields.number(fmt::format("{}_max", each.name), UINT64_MAX).value_or(UINT64_MAX)};
  }
}

bool JobFilter::admits(const JobStats& job) const {
  return std::ranges::all_of(
      numbers, [&](const Number& each) { return match_.of(each.number).admits(each.of(job)); });
}

Json json_of(const JobMatch& match) {
  Json out;
  for (const JobFilter::Number& each : JobFilter::numbers) {
    const NumberRange& range = match.of(each.number);
    if (range.min > 0) out[fmt::format("{}_min", each.name)] = range.min;
    if (range.max < UINT64_MAX) out[fmt::format("{}_max", each.name)] = range.max;
  }
  return out;
}

}  // namespace perennial::http
