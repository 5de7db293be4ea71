#include "cmd/perenniald/server/watchdogs.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {

// A turn that does not end serves nobody, and the thread of the loop cannot say so itself.
void Watchdogs::watch_loop(std::function<void(Nanos lasts)> stalled) {
  const uint64_t seconds = config_.turn_seconds_max;
  if (seconds == 0) return;
  const auto look = [this] {
    const Nanos began = clock_.turn_began();
    return WorkSeen{.busy = began != 0, .progress = static_cast<uint64_t>(began)};
  };
  const auto lasts_long = [this, stalled = std::move(stalled)] {
    const Nanos began = clock_.turn_began();
    if (began == 0) return;
    const Nanos lasts = TurnClock::steady() - began;
    log(Level::Warning, "loop.turn",
        {{"lasts_s", fmt::format("{}", lasts / nanos_per_second)},
         {"means", "nobody is served meanwhile"}});
    stalled(lasts);
  };
  of_loop_ =
      std::make_unique<Watchdog>(static_cast<Nanos>(seconds) * nanos_per_second, look, lasts_long);
}

void Watchdogs::watch_log(const store::Log& log) {
  const uint64_t seconds = config_.stall_seconds_max;
  if (seconds == 0) return;
  const auto look = [&log] { return WorkSeen{.busy = log.busy(), .progress = log.progress()}; };
  const auto stalled = [seconds] {
    end_process(
        {common::exit_stalled, "store.stalled",
         fmt::format("a write or a sync has not ended for {} s (stall_seconds_max)", seconds)});
  };
  of_store_ =
      std::make_unique<Watchdog>(static_cast<Nanos>(seconds) * nanos_per_second, look, stalled);
}

void Watchdogs::watch_closing(const store::Store& store) {
  const uint64_t seconds = config_.stall_seconds_max;
  if (seconds == 0) return;
  const auto look = [&store] { return WorkSeen{.busy = true, .progress = store.progress()}; };
  const auto stalled = [seconds] {
    end_process({common::exit_stalled, "store.stalled",
                 fmt::format("closing has written nothing for {} s (stall_seconds_max); what was "
                             "promised is in the log",
                             seconds)});
  };
  of_store_ =
      std::make_unique<Watchdog>(static_cast<Nanos>(seconds) * nanos_per_second, look, stalled);
}

}  // namespace perennial::perenniald
