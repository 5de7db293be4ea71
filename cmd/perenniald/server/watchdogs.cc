#include "cmd/perenniald/server/watchdogs.h"

#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cmd/common/exit_codes.h"
#include "cmd/perenniald/process/failure.h"
#include "cmd/perenniald/process/log.h"

namespace perennial::perenniald {

namespace {

// Looks at turns, of which `began` says when the present one began, and 0 if there is none. Null:
// turns may last for any time. `lasts_long` is told for how long.
std::unique_ptr<Watchdog> watch_turns(uint64_t seconds, const std::function<Nanos()>& began,
                                      std::function<void(Nanos lasts)> lasts_long) {
  if (seconds == 0) return nullptr;
  const auto look = [began] {
    const Nanos at = began();
    return WorkSeen{.busy = at != 0, .progress = static_cast<uint64_t>(at)};
  };
  const auto stalled = [began, lasts_long = std::move(lasts_long)] {
    const Nanos at = began();
    if (at != 0) lasts_long(TurnClock::steady() - at);
  };
  return std::make_unique<Watchdog>(static_cast<Nanos>(seconds) * nanos_per_second, look, stalled);
}

std::string in_seconds(Nanos time) {
  return fmt::format("{}", time / nanos_per_second);
}

}  // namespace

// A turn that does not end serves nobody, and the thread of the loop cannot say so itself.
void Watchdogs::watch_loop(std::function<void(Nanos lasts)> stalled) {
  of_loop_ = watch_turns(
      config_.turn_seconds_max, [this] { return clock_.turn_began(); },
      [stalled = std::move(stalled)](Nanos lasts) {
        log(Level::Warning, "loop.turn",
            {{"lasts_s", in_seconds(lasts)}, {"means", "nobody is served meanwhile"}});
        stalled(lasts);
      });
}

void Watchdogs::watch_threads(const IoThreads& threads) {
  for (const auto& each : threads.all()) {
    const IoThread& thread = *each;
    of_threads_.push_back(watch_turns(
        config_.turn_seconds_max, [&thread] { return thread.turn_began(); },
        [&thread](Nanos lasts) {
          log(Level::Warning, "io.turn",
              {{"thread", thread.name()},
               {"lasts_s", in_seconds(lasts)},
               {"means", "its clients are not served meanwhile"}});
        }));
  }
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
