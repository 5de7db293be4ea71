#include "tests/overload/stored_jobs.h"

#include <memory>

#include "store/offline/builder.h"

namespace perennial::overload {
namespace {

constexpr Nanos long_ago = 1'700'000'000 * nanos_per_second;
// A start shortens a deadline to the rest of the delay, as after a clock that was set back.
constexpr Nanos far_away = 4'000'000'000 * nanos_per_second;

}  // namespace

Status store_jobs(const std::string& path, uint64_t count, JobState state, uint32_t delay_s) {
  Result<std::unique_ptr<store::Builder>> builder = store::Builder::begin({.path = path});
  if (!builder.ok()) return builder.take_status();
  const Result<TubeId> tube = (*builder)->tube("default");
  if (!tube.ok()) return tube.status();
  const std::string_view body = "8 bytes.";
  JobRow row = {.state = state,
                .tube = *tube,
                .delay_s = delay_s,
                .ttr_s = 3600,
                .created = long_ago,
                .body_bytes = static_cast<uint32_t>(body.size())};
  for (row.id = 1; row.id <= count; ++row.id) {
    if (state == JobState::Buried) row.order = row.id;
    if (state == JobState::Delayed) row.order = far_away;
    if (Status added = (*builder)->add_job(row, body); !added.ok()) return added;
  }
  return (*builder)->publish({.epoch = 1, .index = 1, .known_durable = 1, .now = long_ago},
                             count + 1);
}

}  // namespace perennial::overload
