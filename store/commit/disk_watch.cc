#include "store/commit/disk_watch.h"

#include <algorithm>

namespace perennial::store {
namespace {

// The longest time between two polls, and the time between two polls while puts wait.
constexpr Nanos poll_interval = nanos_per_second;
constexpr Nanos poll_interval_stalled = 10 * nanos_per_ms;

}  // namespace

DiskWatch::DiskWatch(Store& store) : store_(store), seen_(see()) {}

// On a small disk fewer bytes make a poll due, so that writes do not overrun the low-water mark.
bool DiskWatch::is_due() const {
  const Options& options = store_.options();
  const uint64_t bytes =
      options.low_water_bytes == 0 ? poll_bytes : std::min(poll_bytes, options.low_water_bytes / 8);
  return options.steady_clock() >= poll_due_ || store_.bytes_written() - polled_bytes_ >= bytes;
}

Nanos DiskWatch::interval() const {
  return store_.write_stalled() ? poll_interval_stalled : poll_interval;
}

bool DiskWatch::poll() {
  const DiskSeen before = see();
  if (!store_.poll_disk_space().ok()) return false;  // The store has reported it.
  store_.poll_write_backlog();
  const Nanos now = store_.options().steady_clock();
  if (now >= figures_due_) {
    store_.poll_figures();
    figures_due_ = now + poll_interval;
  }
  poll_due_ = now + interval();
  polled_bytes_ = store_.bytes_written();
  seen_ = see();
  return seen_ != before;
}

DiskSeen DiskWatch::see() const {
  const SpaceState space = store_.space_state();
  DiskSeen seen = {.accepts_puts = space == SpaceState::Ok,
                   .write_stalled = store_.write_stalled()};
  seen.state = seen.accepts_puts && seen.write_stalled ? "behind" : space_state_name(space);
  return seen;
}

}  // namespace perennial::store
